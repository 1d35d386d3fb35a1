package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// newRun makes a run of the present definition; nil if the core holds one of this identity already.
func (c *Core) newRun(j *job, id string, trigger Trigger) *run {
	if c.runs[id] != nil {
		return nil
	}
	if _, ended := j.ended[id]; ended { // which is not durable yet
		return nil
	}
	r := &run{job: j, Run: Run{
		ID: id, Namespace: j.def.Namespace, JobUID: j.uid, Job: j.def.Name, Shard: j.def.Shard,
		Trigger: trigger, Status: StatusScheduled, CreatedAt: c.now.Truncate(time.Microsecond),
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
func (c *Core) adopt(j *job, stored Run) *run {
	if known := c.runs[stored.ID]; known != nil {
		return known
	}
	r := &run{job: j, Run: stored}
	r.doubt = r.Status == StatusScheduled && r.Attempt == 0 && !r.Waiting && r.Task == "" // as enqueue says
	r.spec = j.specs[stored.Generation]
	if r.spec == nil && j.def != nil {
		r.spec = &j.def.Spec
	}
	r.unheard = r.Status == StatusQueued || r.Status == StatusRunning
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
	if r.job.def == nil {
		c.abandon(r)
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
		case r.CancelBy != "":
			c.cancel(r, r.CancelBy)
		case at.After(c.now):
			c.setTimer(&r.timer, at, timer{kind: timerFire, run: r})
		case c.outdated(r) != "":
			c.giveUp(r, c.outdated(r))
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
	if r.untouched() && c.superseded(r) { // the engine stood still meanwhile
		c.giveUp(r, ReasonOutage)
		return
	}
	c.admit(r)
}

// untouched reports whether a run was prepared for its slot, and nothing has come of it yet.
func (r *run) untouched() bool {
	return r.Status == StatusScheduled && r.Attempt == 0 && r.Trigger == TriggerSchedule && !r.Waiting
}

// enqueue begins the run's next attempt.
func (c *Core) enqueue(r *run) {
	waited := r.Waiting
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
	if r.once() && a.claimedByAnother(m) {
		c.claimedTwice(r, a, m)
		return
	}
	switch m.Kind {
	case ResultStarted:
		c.started(r, a, m)
	case ResultProgress:
		if m.Asks {
			c.letBegin(r, m)
			return
		}
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
	if m.Asks {
		c.letBegin(r, m)
	}
	c.askToCancel(r)
}

// letBegin tells the executor that it may begin the program, once its claim is durable.
func (c *Core) letBegin(r *run, m *Result) {
	c.afterCommit(r, Ask{Control{Kind: ControlBegin, Run: r.ID, Attempt: r.Attempt, Executor: m.Executor, Token: m.Token}})
}

// once reports whether the run's program may begin once at most.
func (r *run) once() bool { return r.spec != nil && r.spec.Delivery == spec.DeliveryAtMostOnce }

// claimedByAnother reports whether a message is not of the executor whose claim is known.
func (a *Attempt) claimedByAnother(m *Result) bool {
	return a.Status == StatusRunning && m.Executor != "" && (m.Executor != a.Executor || m.Token != a.Token)
}

// claimedTwice takes a message of an executor that has claimed an attempt after another one: the queue has lost the first
// claim, and given the task again. The second is not let begin, and gives up in the end. Then the first, which may have begun,
// holds no lock any more.
func (c *Core) claimedTwice(r *run, a *Attempt, m *Result) {
	if m.Kind != ResultFinished {
		return
	}
	a.Status, a.FinishedAt = StatusLost, m.At
	a.Error = "the queue has lost the claim of its executor"
	c.lost(r)
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
