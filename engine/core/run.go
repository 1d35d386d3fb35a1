package core

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/attempt"
)

// newRun makes a run of the present definition; nil if the core holds one of this identity already.
func (c *Core) newRun(j *job, id string, trigger engine.Trigger) *run {
	if c.runs[id] != nil {
		return nil
	}
	if _, ended := j.ended[id]; ended { // which is not durable yet
		return nil
	}
	r := &run{job: j, Run: engine.Run{
		ID: id, Namespace: j.def.Namespace, JobUID: j.uid, Job: j.def.Name, Shard: j.def.Shard,
		Trigger: trigger, Status: engine.StatusScheduled, CreatedAt: c.now.Truncate(time.Microsecond),
	}}
	c.made(r)
	c.pin(r)
	return r
}

// made takes a new run. One that takes the place of another which is about to be removed goes on with its revision.
func (c *Core) made(r *run) {
	u := c.unwritten(r.job.owner())
	if at := slices.IndexFunc(u.drops, func(other *run) bool { return other.ID == r.ID }); at >= 0 {
		r.Revision = u.drops[at].Revision
		u.drops = slices.Delete(u.drops, at, at+1)
		r.job.writes--
	}
	c.hold(r)
	c.touch(r)
}

// adopt takes a run from the store.
func (c *Core) adopt(j *job, stored engine.Run) *run {
	if known := c.runs[stored.ID]; known != nil {
		return known
	}
	r := &run{job: j, Run: stored}
	r.doubt = r.Status == engine.StatusScheduled && r.Attempt == 0 && !r.Waiting && r.Task == "" // as enqueue says
	r.spec = j.specs[stored.Generation]
	if r.spec == nil && j.def != nil {
		r.spec = &j.def.Spec
	}
	r.unheard = r.Status == engine.StatusQueued || r.Status == engine.StatusRunning
	c.hold(r)
	if r.Trigger == engine.TriggerManual && r.Generation == 0 && j.def != nil { // the API leaves the rest to the owner
		c.pin(r)
		c.touch(r)
	}
	return r
}

func (c *Core) hold(r *run) {
	c.runs[r.ID] = r
	r.job.live = append(r.job.live, r)
}

// pin fixes what the run executes: the definition's generation and the version its binary means now.
func (c *Core) pin(r *run) {
	d := r.job.def
	if w := r.openWave(); w != nil {
		c.pinTask(r, w)
		return
	}
	r.spec, r.Generation = &d.Spec, d.Generation
	attempt.Bind(&r.Run, r.spec, c.binaries)
}

// resume sets a run's timer as its status says: after it was made, or loaded from the store.
func (c *Core) resume(r *run) {
	if c.runs[r.ID] != r {
		return
	}
	if r.job.def == nil {
		c.abandon(r)
		return
	}
	switch r.Status {
	case engine.StatusScheduled:
		at := r.Slot
		if r.NotBefore.After(at) {
			at = r.NotBefore
		}
		switch {
		case r.Trigger == engine.TriggerUpstream || r.job.dag != nil && r.awaitsTurn(): // its wave lets it go
		case r.back != "":
		case r.CancelBy != "":
			c.cancel(r, r.CancelBy)
		case at.After(c.now):
			c.setTimer(&r.timer, at, timer{kind: timerFire, run: r})
		case c.outdated(r) != "":
			c.giveUp(r, c.outdated(r))
		default:
			c.fire(r)
		}
	case engine.StatusRetrying:
		c.setTimer(&r.timer, r.RetryAt, timer{kind: timerRetry, run: r})
	case engine.StatusQueued:
		c.inspect(r)
		c.askToCancel(r)
	case engine.StatusRunning:
		c.inspect(r)
		c.askToCancel(r)
	case engine.StatusInvalid, engine.StatusSucceeded, engine.StatusFailed, engine.StatusTimedOut, engine.StatusCancelled, engine.StatusLost, engine.StatusDead, engine.StatusSkipped:
	}
}

// fire lets a scheduled run go at its slot, unless an earlier run of its job is in the way.
func (c *Core) fire(r *run) {
	if r.Status != engine.StatusScheduled || r.back != "" {
		return
	}
	if at := r.Slot; at.After(c.now) { // the wall clock went back
		c.setTimer(&r.timer, at, timer{kind: timerFire, run: r})
		return
	}
	if r.untouched() && c.superseded(r) { // the engine stood still meanwhile
		c.giveUp(r, engine.ReasonOutage)
		return
	}
	c.admit(r)
}

// untouched reports whether a run was prepared for its slot, and nothing has come of it yet.
func (r *run) untouched() bool {
	return r.Status == engine.StatusScheduled && r.Attempt == 0 && r.Trigger == engine.TriggerSchedule && !r.Waiting
}

// enqueue begins the run's next attempt.
func (c *Core) enqueue(r *run) {
	waited := r.Waiting
	r.Waiting = false
	if r.CancelBy != "" && r.Status == engine.StatusScheduled && r.job.dag != nil { // it was cancelled before its turn came
		c.end(r, engine.StatusCancelled, attempt.CancelReason(&r.Run))
		return
	}
	if r.Digest == "" && r.job.def != nil {
		c.pin(r) // its binary may have come meanwhile
	}
	if r.Digest == "" { // it cannot be executed at all; Reason says why
		c.end(r, engine.StatusFailed, r.Reason)
		return
	}
	// A prepared run is durable, and so is the end of every run before it: if a crash takes its new status, the same
	// decision is made again and publishes the same attempt. Everything else waits for the commit.
	// So does what has waited for its turn, and a task of a wave: it depends on others.
	settled := r.Attempt == 0 && !waited && r.job.writes == 0 && r.job.dag == nil // a run that is not stored is an open write
	again := r.doubt
	c.beginAttempt(r, c.now)
	if settled {
		c.atOnce(c.publish(r, again))
	} else {
		c.afterCommit(r, c.publish(r, again))
	}
}

func (c *Core) beginAttempt(r *run, at time.Time) {
	attempt.Begin(&r.Run, at)
	r.doubt, r.outlived, r.unheard = false, false, false
	r.looks = 0
	c.touch(r)
	c.lookLater(r)
}

// publish is the message for the run's current attempt.
func (c *Core) publish(r *run, again bool) Publish {
	task := attempt.Message(&r.Run, r.spec)
	task.Again = again
	if r.Task != "" {
		task.Job, task.DAG, task.Epoch, task.Task, task.Item, task.ItemValue = r.DAG, r.DAG, r.Epoch, r.Task, r.Item, r.value
		if w := r.openWave(); w != nil {
			w.Describe(task, &r.Run)
		}
	}
	return Publish{Task: task}
}

// result takes one message of an attempt's own subject.
func (c *Core) result(m *engine.Result) {
	r := c.runs[m.Run]
	if r == nil {
		return // ended before: a message that came again
	}
	if m.Attempt == r.Attempt+1 && (r.Status == engine.StatusScheduled || r.Status == engine.StatusRetrying) {
		// It was published before a crash that took the news of it.
		if m.Kind == engine.ResultRevoked && r.back != "" {
			c.tookBack(r)
			return
		}
		c.stopTimer(&r.timer)
		r.Waiting, r.back = false, ""
		c.beginAttempt(r, earlier(later(m.At, r.due()), c.now))
	}
	if m.Attempt != r.Attempt {
		return // the attempt fence: a stale executor changes nothing
	}
	a := r.Current()
	if a == nil || a.Status.Terminal() {
		return
	}
	r.unheard = false
	if attempt.Once(r.spec) && attempt.ClaimedByAnother(a, m) {
		c.claimedTwice(r, m)
		return
	}
	switch m.Kind {
	case engine.ResultStarted:
		if attempt.Started(&r.Run, m, c.now) {
			c.touch(r)
			c.setTimer(&r.timer, c.now.Add(c.config.LockTTL+c.config.Margin), timer{kind: timerInspect, run: r})
			if m.Asks {
				c.letBegin(r, m)
			}
			c.askToCancel(r)
		}
	case engine.ResultProgress:
		if m.Asks {
			c.letBegin(r, m)
			return
		}
		attempt.Progressed(&r.Run, m)
		c.touch(r)
	case engine.ResultFinished:
		if m.Finish != nil {
			c.follow(r, attempt.Finished(&r.Run, m, c.rules(r), c.now))
		}
	case engine.ResultRevoked:
		c.follow(r, attempt.Revoked(&r.Run, m.At, r.outlived, c.now))
	case engine.ResultLost:
		c.follow(r, attempt.Lost(&r.Run, m.At, c.rules(r), c.now))
	}
}

// letBegin tells the executor that it may begin the program, once its claim is durable.
func (c *Core) letBegin(r *run, m *engine.Result) {
	c.afterCommit(r, Ask{engine.Control{Kind: engine.ControlBegin, Run: r.ID, Attempt: r.Attempt, Executor: m.Executor, Token: m.Token}})
}

// claimedTwice takes a message of an executor that has claimed an attempt after another one: the queue has lost the first
// claim, and given the task again. The second is not let begin, and gives up in the end. Then the first, which may have begun,
// holds no lock any more.
func (c *Core) claimedTwice(r *run, m *engine.Result) {
	if m.Kind == engine.ResultFinished {
		c.follow(r, attempt.Lost(&r.Run, m.At, c.rules(r), c.now))
	}
}

// rules is what decides, beside the run, what follows the end of its attempt.
func (c *Core) rules(r *run) attempt.Rules {
	rules := attempt.Rules{Spec: r.spec, MaxLosses: c.config.MaxLosses, Unfetched: c.config.Unfetched, Random: c.rand}
	if r.job.def == nil {
		rules.Spec = nil
	}
	return rules
}

// follow does what follows an attempt that has ended.
func (c *Core) follow(r *run, next attempt.Next) {
	if next.Status != engine.StatusRetrying {
		c.end(r, next.Status, next.Reason)
		return
	}
	attempt.Retry(&r.Run, next.At, next.Reason)
	c.touch(r)
	c.setTimer(&r.timer, r.RetryAt, timer{kind: timerRetry, run: r})
}

// end gives a run its terminal status. One whose tries are used up leaves a dead letter.
func (c *Core) end(r *run, status engine.Status, reason string) {
	attempt.End(&r.Run, status, reason, c.now)
	if status == engine.StatusDead {
		c.putLetter(&r.Run)
	}
	c.touch(r)
	c.release(r)
}

// release takes a run out of the core. Its job, or its wave, hears of it once what is being done is done.
func (c *Core) release(r *run) {
	c.stopTimer(&r.timer)
	c.stopTimer(&r.resend)
	delete(c.runs, r.ID)
	j := r.job
	j.live = slices.DeleteFunc(j.live, func(other *run) bool { return other == r })
	if !r.gone() {
		if j.ended == nil {
			j.ended = map[string]int64{}
		}
		j.ended[r.ID] = r.Revision
		if r.dirty {
			j.ended[r.ID]++ // with the write to come
		}
	}
	c.ended = append(c.ended, r)
}

// runEnded goes on with a job of which a run has ended.
func (c *Core) runEnded(r *run) {
	j := r.job
	c.afterRun(j, r)
	c.goOn(j)
	if j.tombstone != nil && len(j.live) == 0 {
		c.handled(j.uid, *j.tombstone)
		j.tombstone = nil
	}
}

// goOn lets go what waited for a run of the job to end.
func (c *Core) goOn(j *job) {
	for next := j.nextWaiting(); next != nil && c.blocker(j, nil) == nil; next = j.nextWaiting() {
		c.enqueue(next)
	}
	if j.postpone && j.def != nil && j.schedule != nil && c.blocker(j, nil) == nil {
		c.prepare(j)
	}
}

// abandon ends what a deleted job left behind, as far as nobody executes it.
func (c *Core) abandon(r *run) {
	switch r.Status {
	case engine.StatusRunning:
		c.inspect(r)
		c.askToCancel(r) // where somebody had cancelled it
	default:
		c.cancel(r, "the deletion of its job")
	}
}

// putLetter leaves the dead letter of a run.
func (c *Core) putLetter(r *engine.Run) {
	p := c.unwritten(r.JobUID)
	p.unletter = slices.DeleteFunc(p.unletter, func(id string) bool { return id == r.ID })
	p.letters = append(p.letters, attempt.Letter(r, c.now))
}

// dropLetter removes the dead letter of a run that is not dead any more.
func (c *Core) dropLetter(r *engine.Run) {
	u := c.unwritten(r.JobUID)
	u.letters = slices.DeleteFunc(u.letters, func(letter engine.DeadLetter) bool { return letter.RunID == r.ID })
	if !slices.Contains(u.unletter, r.ID) {
		u.unletter = append(u.unletter, r.ID)
	}
}
