package core

import "time"

// Step takes one event at one instant and returns what is to be done at once. now is the wall clock and may jump
// either way. Whatever must be written first comes with Ready.
func (c *Core) Step(now time.Time, event Event) []Effect {
	c.now = now.UTC()
	c.incidents.At(c.now)
	c.effects = nil
	switch e := event.(type) {
	case Tick:
	case HorizonMoved:
		if e.Until.After(c.horizon) {
			c.horizon = e.Until
		}
	case JobsLoaded:
		c.learnBinaries(e.Binaries)
		for i := range e.Jobs {
			c.loadJob(&e.Jobs[i])
			c.settleRuns()
		}
		for i := range e.DAGs {
			c.loadDAG(&e.DAGs[i])
			c.settleRuns()
		}
	case BinariesChanged:
		c.learnBinaries(e.Binaries)
		for _, key := range e.Gone {
			delete(c.binaries, key)
		}
	case ResultsReceived:
		for i := range e.Results {
			c.result(&e.Results[i])
			c.settleRuns()
		}
	case TaskPublished:
		c.published(e)
	case TaskDropped:
		c.dropped(e)
	case AttemptRevoked:
		c.revoked(e)
	case AttemptInspected:
		c.inspected(e)
	case CommandReceived:
		c.learnBinaries(e.Binaries)
		c.command(e)
	case RunsLookedUp:
		c.backfill(e)
	case AlertRules:
		c.alertRules(e)
	case IncidentsLoaded:
		c.incidents.Load(e.Incidents, c.now.Add(hearWithin))
	case IncidentNotified:
		c.incidents.Answered(e.ID, e.Since, e.Over, e.Failed)
	case ClockWentBack:
		c.clockWentBack(e.By)
	}
	c.settleRuns()
	c.wheel.Advance(c.now, c.expire)
	c.incidents.Advance()
	c.settle()
	return c.effects
}

// LetGo tells the core that what was read has been given to Step, or that it never will be.
func (c *Core) LetGo(uid string) {
	c.letGo(uid)
	c.settle()
}

func (c *Core) expire(_ time.Time, t timer) {
	switch t.kind {
	case timerPrepare:
		j := t.of.(*job)
		j.timer = nil
		c.prepare(j)
	case timerFire:
		r := t.of.(*run)
		r.timer = nil
		c.fire(r)
	case timerRetry:
		r := t.of.(*run)
		r.timer = nil
		c.admit(r)
	case timerInspect:
		r := t.of.(*run)
		r.timer = nil
		c.inspect(r)
	case timerResend:
		r := t.of.(*run)
		r.resend = nil
		c.askToCancel(r)
	case timerWatch:
		r := t.of.(*run)
		r.watch.timer = nil
		c.watch(r)
	case timerWave:
		w := t.of.(*waveState)
		w.watch = nil
		c.watchWave(w)
		c.idleDAGs = append(c.idleDAGs, w.dag)
	}
	c.settleRuns()
}
