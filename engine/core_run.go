package engine

import (
	"fmt"
	"slices"
	"time"
)

// newRun makes a run of the present definition; nil if the core holds one of this identity already.
func (c *Core) newRun(j *job, id string, trigger Trigger) *run {
	if c.runs[id] != nil {
		return nil
	}
	if r := c.undrop(j, id); r != nil {
		r.Trigger = trigger
		c.pin(r)
		return r
	}
	if _, ended := j.ended[id]; ended { // which is not durable yet
		return nil
	}
	r := &run{job: j, Run: Run{
		ID: id, Namespace: j.def.Namespace, JobUID: j.uid, Job: j.def.Name, Shard: j.def.Shard,
		Trigger: trigger, Status: StatusScheduled, CreatedAt: c.now.Truncate(time.Microsecond),
	}}
	c.hold(r)
	c.pin(r)
	c.touch(r)
	return r
}

// adopt takes a run from the store.
func (c *Core) adopt(j *job, stored Run) *run {
	if known := c.runs[stored.ID]; known != nil {
		return known
	}
	r := &run{job: j, Run: stored}
	r.doubt = r.Status == StatusScheduled && r.Attempt == 0 && r.Task == "" // tasks are published once that is durable
	if r.Trigger == TriggerSchedule || r.Trigger == TriggerCatchUp {
		j.account(r.Slot)
	}
	r.spec = j.specs[stored.Generation]
	if r.spec == nil && j.def != nil {
		r.spec = &j.def.Spec
	}
	r.letter = r.anew()
	r.unheard = r.Status == StatusQueued || r.Status == StatusRunning
	if r.isGivenUp() {
		r.back = r.GivenUp.Reason
	}
	c.tellBefore(r)
	c.hold(r)
	if r.Trigger == TriggerManual && r.Generation == 0 && j.def != nil { // the API leaves the rest to the owner
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
	c.bind(r)
}

// bind fixes the version that the binary of the run's definition means now.
func (c *Core) bind(r *run) {
	s := r.spec
	r.Tier, r.Class, r.RunsOn = s.Tier, s.Class, s.RunsOn
	r.Binary, r.Version, r.Digest, r.Kind, r.Size = s.Binary, 0, "", "", 0
	r.Reason = ""
	ref, err := s.Binding()
	if err != nil {
		r.Reason = err.Error()
		return
	}
	if ref.Digest != "" {
		r.Digest = ref.Digest
		return
	}
	b := c.binaries[r.Namespace+"/"+ref.Name]
	if b == nil {
		r.Reason = fmt.Sprintf("there is no binary %q: push it with `tidewheel binary push %s FILE`, then retry the run", ref.Name, ref.Name)
		return
	}
	version, err := b.Resolve(ref)
	if err != nil {
		r.Reason = err.Error()
		return
	}
	r.Version, r.Digest, r.Kind, r.Size = version.N, version.SHA256, version.Kind, version.Size
}

// resume sets a run's timer as its status says: after it was made, or loaded from the store.
func (c *Core) resume(r *run) {
	if c.runs[r.ID] != r {
		return
	}
	if r.isGivenUp() {
		c.giveUpAgain(r)
		return
	}
	if r.job.def == nil {
		c.abandon(r)
		return
	}
	if r.strayed() {
		c.cancel(r, "the end of its wave")
		return
	}
	switch r.Status {
	case StatusScheduled:
		at := r.Slot
		if r.NotBefore.After(at) {
			at = r.NotBefore
		}
		switch {
		case r.Trigger == TriggerUpstream || r.job.dag != nil && r.awaitsTurn(): // its wave lets it go
		case r.back != "":
		case r.doubled():
			c.drop(r)
		case r.CancelBy != "":
			c.cancel(r, r.CancelBy)
		case r.doubt && r.Trigger != TriggerBackfill && r.told(): // it was to be dropped
			c.takeBack(r, ReasonOutage)
		case r.job.dag != nil && r.Trigger != TriggerBackfill && r.told(): // it was to be dropped
			c.drop(r)
		case at.After(c.now):
			c.setTimer(&r.timer, at, timer{kind: timerFire, run: r})
		case r.doubt && c.outdated(r) != "":
			c.takeBack(r, c.outdated(r))
		case r.job.dag != nil && r.unpassed():
			c.giveUp(r, ReasonPaused)
		default:
			c.fire(r)
		}
	case StatusRetrying:
		c.setTimer(&r.timer, r.RetryAt, timer{kind: timerRetry, run: r})
	case StatusQueued:
		c.inspect(r)
		c.askToCancel(r)
	case StatusRunning:
		c.inspect(r)
		c.askToCancel(r)
	case StatusInvalid, StatusSucceeded, StatusFailed, StatusTimedOut, StatusCancelled, StatusLost, StatusDead, StatusSkipped:
	}
}

// fire lets a scheduled run go at its slot, unless an earlier run of its job is in the way.
func (c *Core) fire(r *run) {
	if r.Status != StatusScheduled || r.back != "" {
		return
	}
	if at := r.Slot; at.After(c.now) { // the wall clock went back
		c.setTimer(&r.timer, at, timer{kind: timerFire, run: r})
		return
	}
	if r.Attempt == 0 && r.Trigger == TriggerSchedule && !r.Waiting && c.superseded(r) { // the engine stood still meanwhile
		c.giveUp(r, ReasonOutage)
		return
	}
	c.admit(r)
}

// punctual is how late a prepared run may be and still be published before it is written that it is queued. An engine that
// stood still for longer may have lost its shards, and whoever has them now may have seen the run through.
const punctual = 2 * time.Second

// standstill is how long Step is not called only where the engine stood still: it is at least once a second (shard.Machine's
// SweepEvery). Where shards move, nothing is published then before it is written, for as long as that takes to find out.
const standstill = 3 * time.Second

// enqueue begins the run's next attempt.
func (c *Core) enqueue(r *run) {
	r.Waiting = false
	if r.CancelBy != "" && r.Status == StatusScheduled && r.job.dag != nil { // it was cancelled before its turn came
		c.end(r, StatusCancelled, cancelReason(&r.Run))
		return
	}
	if r.Digest == "" && r.job.def != nil {
		c.pin(r) // its binary may have come meanwhile
	}
	if r.Digest == "" { // it cannot be executed at all; Reason says why
		c.end(r, StatusFailed, r.Reason)
		return
	}
	// A prepared run is durable, and so is the end of every run before it: if a crash takes its new status, the same
	// decision is made again and publishes the same attempt. Everything else waits for the commit.
	// So does a task of a wave: it depends on others. And so does what is late, or is found by an engine that stood still.
	settled := r.Attempt == 0 && r.job.writes == 0 && r.job.dag == nil // a run that is not stored is an open write
	settled = settled && c.now.Sub(r.due()) < punctual && !c.now.Before(c.unsure)
	again := r.doubt
	c.beginAttempt(r, c.now)
	if settled {
		c.atOnce(c.publish(r, again))
	} else {
		c.afterCommit(r, c.publish(r, again))
	}
}

func (c *Core) beginAttempt(r *run, at time.Time) {
	r.Attempt++
	r.doubt, r.outlived, r.unheard = false, false, false
	r.Status, r.Reason = StatusQueued, ""
	r.QueuedAt, r.RetryAt, r.Progress = at.Truncate(time.Microsecond), time.Time{}, nil
	r.Attempts = append(r.Attempts, Attempt{N: r.Attempt, Status: StatusQueued, QueuedAt: r.QueuedAt})
	r.looks = 0
	c.touch(r)
	c.lookLater(r)
}

func (c *Core) publish(r *run, again bool) Publish {
	task := c.task(r)
	task.Again = again
	return Publish{Task: task}
}

// result takes one message of an attempt's own subject.
func (c *Core) result(m *Result) {
	r := c.runs[m.Run]
	if r == nil {
		return // ended before: a message that came again
	}
	if r.ofOther() {
		return
	}
	if m.Attempt == r.Attempt+1 && (r.Status == StatusScheduled || r.Status == StatusRetrying) {
		// It was published before a crash that took the news of it.
		if m.Kind == ResultRevoked && r.back != "" {
			c.tookBack(r)
			return
		}
		c.stopTimer(&r.timer)
		r.Waiting, r.back = false, ""
		c.beginAttempt(r, m.At)
	}
	if m.Attempt != r.Attempt {
		return // the attempt fence: a stale executor changes nothing
	}
	a := r.Current()
	if a == nil || a.Status.Terminal() {
		return
	}
	r.unheard = false
	switch m.Kind {
	case ResultStarted:
		c.started(r, a, m)
	case ResultProgress:
		if m.Progress != nil {
			r.Progress = m.Progress
		} else {
			r.Reason = m.Waits
		}
		c.touch(r)
	case ResultFinished:
		if m.Finish != nil {
			c.finished(r, a, m)
		}
	case ResultRevoked:
		c.attemptRevoked(r, m.At)
	case ResultLost:
		a.Status, a.FinishedAt = StatusLost, m.At
		a.Error = "its executor vanished: the lock expired without being refreshed"
		c.lost(r)
	}
}

// ofOther reports whether news of a run must be of one that another owner has made: this one's is not written yet, and a task
// is published once that is durable. What follows from the news would be written with the run, and not refused with it.
func (r *run) ofOther() bool { return r.Task != "" && r.Revision == 0 }

// Places reports whether the core knows the run of a result, at its attempt or a later one, or the one before; or has just
// seen it end.
func (c *Core) Places(m *Result) bool {
	r := c.runs[m.Run]
	if r == nil {
		return c.KnowsRun(RunJob(m.Run), m.Run, 0)
	}
	if r.ofOther() {
		return false
	}
	return m.Attempt <= r.Attempt || m.Attempt == r.Attempt+1 && (r.Status == StatusScheduled || r.Status == StatusRetrying)
}

// attemptRevoked ends a queued attempt that nobody will ever claim. Where nobody asked for that, an engine that
// crashed had taken back what it had prepared: then the run gets another attempt.
func (c *Core) attemptRevoked(r *run, at time.Time) {
	a := r.Current()
	a.Status, a.FinishedAt = StatusCancelled, at.Truncate(time.Microsecond)
	if r.CancelBy != "" {
		c.end(r, StatusCancelled, cancelReason(&r.Run))
		return
	}
	why := "the attempt had been taken back before a restart: it is tried again"
	if r.outlived {
		why = "its task had waited for so long that it was taken back: it is queued once more"
	}
	c.retryAt(r, c.now, why)
}

func (c *Core) started(r *run, a *Attempt, m *Result) {
	if a.Status == StatusRunning {
		return
	}
	a.Status, a.Executor, a.Token, a.ClaimedAt = StatusRunning, m.Executor, m.Token, m.At
	r.Status = StatusRunning
	c.touch(r)
	c.setTimer(&r.timer, c.now.Add(c.config.LockTTL+c.config.Margin), timer{kind: timerSupervise, run: r})
	c.askToCancel(r)
}

func (c *Core) finished(r *run, a *Attempt, m *Result) {
	f := m.Finish
	if a.ClaimedAt.IsZero() {
		a.Executor, a.Token, a.ClaimedAt = m.Executor, m.Token, f.StartedAt
	}
	a.Status, a.FetchedAt, a.StartedAt, a.FinishedAt = f.Status, f.FetchedAt, f.StartedAt, f.FinishedAt
	a.ExitCode, a.Signal, a.Error, a.Usage, a.Output = f.ExitCode, f.Signal, f.Error, f.Usage, f.Output
	if r.StartedAt.IsZero() {
		r.StartedAt = f.StartedAt
	}
	switch {
	case f.HandedBack:
		a.Status = StatusLost
		c.handedBack(r, f)
	case f.Status == StatusSucceeded:
		r.Outputs, r.Artifacts = f.Outputs, f.Artifacts
		c.end(r, StatusSucceeded, "")
	case f.Status == StatusCancelled:
		c.end(r, StatusCancelled, cancelReason(&r.Run))
	default:
		c.failed(r, f)
	}
}

// end gives a run its terminal status and lets the next one of its job go.
func (c *Core) end(r *run, status Status, reason string) {
	r.Status, r.Reason = status, reason
	r.FinishedAt = c.now.Truncate(time.Microsecond)
	if a := r.Current(); a != nil && !a.FinishedAt.IsZero() {
		r.FinishedAt = a.FinishedAt
	}
	r.RetryAt = time.Time{}
	c.touch(r)
	c.release(r)
}

// release takes a run out of the core and lets the next one of its job go.
func (c *Core) release(r *run) {
	c.stopTimer(&r.timer)
	c.stopTimer(&r.resend)
	if r.letter && r.Status != StatusDead {
		c.dropLetter(&r.Run)
	}
	delete(c.runs, r.ID)
	j := r.job
	j.live = slices.DeleteFunc(j.live, func(other *run) bool { return other == r })
	if !r.gone() || r.Revision > 0 { // of what was never written the store may know by somebody else only
		if j.ended == nil {
			j.ended = map[string]int64{}
		}
		j.ended[r.ID] = r.Revision
		if r.dirty || r.gone() {
			j.ended[r.ID]++ // with the write to come
		}
	}
	if j.dag != nil {
		if j.dag.open == nil { // the wave to come may have waited for this
			c.idleDAGs = append(c.idleDAGs, j.dag)
		}
		c.taskEnded(r)
		return
	}
	c.afterRun(j, r)
	if j.draining {
		return // a run that was let go has ended at once: whoever let it go looks for the next
	}
	c.goOn(j)
	if j.tombstone != nil && len(j.live) == 0 {
		c.handled(j.uid, *j.tombstone)
		j.tombstone = nil
	}
	if j.def == nil || j.schedule == nil {
		c.forgetIfIdle(j)
	}
}

// goOn lets go what waited for a run of the job to end.
func (c *Core) goOn(j *job) {
	j.draining = true
	for next := j.nextWaiting(); next != nil && c.blocker(j, nil) == nil; next = j.nextWaiting() {
		c.enqueue(next)
	}
	j.draining = false
	if j.postpone && j.def != nil && j.schedule != nil && c.blocker(j, nil) == nil {
		c.prepare(j)
	}
}

// abandon ends what a deleted job left behind, as far as nobody executes it.
func (c *Core) abandon(r *run) {
	switch r.Status {
	case StatusRunning:
		c.inspect(r)
		c.askToCancel(r) // where somebody had cancelled it
	default:
		c.cancel(r, "the deletion of its job")
	}
}
