package sim

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

const (
	lockTTL    = 10 * time.Second
	lockMargin = time.Second // a process is dead this long before another executor can take its lock
)

// attempt is one that an executor has taken.
type attempt struct {
	x         *executor
	task      *engine.Task
	process   *process
	token     uint64
	revision  uint64
	deadline  time.Duration // by when its process must have ended, unless the lock is refreshed
	program   *program
	cancelled bool
	mayBegin  bool // the owner has said so
	drained   bool
	unsure    bool // whether it is claimed
	reporting bool // its process has ended, and the report of that is on its way
}

// step lets time pass; false when the executor has died. A stalled executor wakes when its stall is over.
func (a *attempt) step(wait time.Duration) bool {
	x := a.x
	if !a.process.sleep(wait) {
		return false
	}
	for x.w.elapsed < x.stalledUntil {
		if !a.process.sleep(x.stalledUntil - x.w.elapsed) {
			return false
		}
	}
	if x.w.chance(executorCut) {
		x.kill()
		return false
	}
	return true
}

// call is the time that a question to the queue takes; false when the executor has died.
func (a *attempt) call() bool {
	return a.step(a.x.w.between(100*time.Microsecond, 2*time.Millisecond))
}

// handle is what an executor does with a task: lock, claim, acknowledge, run, finish, unlock.
func (a *attempt) handle(delivered *waiting, outlived func() bool) {
	x, w, task := a.x, a.x.w, a.task
	q := w.queue
	if task.Run == "" {
		return
	}

	// Lock. The deadline counts from before the call: the lock cannot expire earlier.
	asked, token, until, ok, alive := a.lock()
	switch {
	case !alive, x.away():
		return // it is delivered again
	case !ok && until == 0:
		q.giveBack(delivered, w.between(0, time.Second))
		return
	}
	if !ok {
		q.giveBack(delivered, min(max(until-w.elapsed, 10*time.Millisecond), w.between(100*time.Millisecond, time.Second)))
		return
	}
	a.token, a.revision, a.deadline = token, token, asked+x.time.lasts(lockTTL-lockMargin)
	defer func() {
		if !x.group.dead && !x.away() && !a.unsure && !w.chance(unlockLost) {
			q.unlock(task.Lock, a.revision, task, x.group.name)
		}
	}()

	if outlived() {
		if !x.away() {
			q.giveBack(delivered, 0)
		}
		return
	}

	// Claim. A claim whose answer was lost is found again.
	started := engine.Result{
		Kind: engine.ResultStarted, Run: task.Run, Attempt: task.Attempt, Shard: task.Shard, Executor: x.group.name, Token: token, At: a.x.time.stamp(),
		Asks: task.Once,
	}
	sequence, claimed, alive := a.claim(started, outlived)
	if !alive { // it may be claimed or not: the lock is left to expire
		a.unsure = true
		return
	}
	if !claimed {
		w.counts.add("queue", "claim refused")
		if !x.away() {
			q.acknowledge(delivered)
		}
		return
	}

	// Acknowledge.
	if !a.call() {
		return
	}
	switch {
	case x.away(), w.chance(taskAckLost):
	case w.chance(taskAckLate):
		w.after(w.between(50*time.Millisecond, 2*q.ackWait), func() { q.acknowledge(delivered) })
	default:
		q.acknowledge(delivered)
	}
	a.run(sequence)
}

// lock takes the task's lock, and returns when it was asked for. Where the queue does not answer it is tried again: one that was made
// although the answer was lost is found again, and counts from when it was asked for first. until is 0 if no holder is known
// to have it.
func (a *attempt) lock() (asked time.Duration, token uint64, until time.Duration, ok, alive bool) {
	x, w, task := a.x, a.x.w, a.task
	limit := w.elapsed + x.time.lasts(lockTTL)
	for certain := true; ; {
		if certain { // else the lock may be the one that was asked for before
			asked = w.elapsed
		}
		if !a.call() {
			return 0, 0, 0, false, false
		}
		switch {
		case x.away(), w.chance(queueRefused):
		case w.chance(lockDelayed):
			free, sender := w.queue.free(task.Lock), x.group.name
			w.after(w.between(100*time.Millisecond, 2*lockTTL), func() { w.queue.lockLate(task, sender, a, free) })
		default:
			token, until, ok = w.queue.lock(task.Lock, task.Run, task.Attempt, x.group.name, lockTTL, a)
			if !ok || !w.chance(lockUnsure) {
				return asked, token, until, ok, true
			}
		}
		certain = false
		if w.elapsed >= limit {
			return 0, 0, 0, false, true
		}
		if !a.step(w.between(50*time.Millisecond, 500*time.Millisecond)) {
			return 0, 0, 0, false, false
		}
	}
}

// claim is decide for the first message. It is not sent once another executor could have the lock, or the copy is too old.
func (a *attempt) claim(started engine.Result, outlived func() bool) (sequence uint64, ok, alive bool) {
	return a.decideWhile(started, 0, func() bool { return a.x.w.elapsed < a.deadline && !outlived() })
}

// decide publishes on the attempt's subject until it hears that it is stored, or refused.
func (a *attempt) decide(result engine.Result, after uint64) (sequence uint64, ok, alive bool) {
	return a.decideWhile(result, after, func() bool { return true })
}

func (a *attempt) decideWhile(result engine.Result, after uint64, may func() bool) (sequence uint64, ok, alive bool) {
	w := a.x.w
	for {
		if !a.call() || !may() {
			return 0, false, false
		}
		if a.x.away() {
			if !a.step(w.between(50*time.Millisecond, 500*time.Millisecond)) {
				return 0, false, false
			}
			continue
		}
		if w.chance(queueRefused) {
			continue
		}
		if w.chance(resultLate) { // it arrives long after it was sent again, or its executor was killed, and not after the claim window
			w.after(w.between(100*time.Millisecond, claimWaits*w.queue.ackWait*3/4), func() { w.queue.decide(result, after) })
			continue
		}
		sequence, ok := w.queue.decide(result, after)
		if ok && w.chance(queueUnsure) {
			continue
		}
		return sequence, ok, true
	}
}

// run starts the program, watches over it and reports its end.
func (a *attempt) run(sequence uint64) {
	w, task := a.x.w, a.task
	finish := &engine.Finish{}
	report := func() {
		finish.FinishedAt = a.x.time.stamp()
		a.reporting = true
		a.decide(engine.Result{
			Kind: engine.ResultFinished, Run: task.Run, Attempt: task.Attempt, Shard: task.Shard, Executor: a.x.group.name, Token: a.token,
			At: a.x.time.stamp(), Finish: finish,
		}, sequence)
	}

	fetch := w.between(0, 20*time.Millisecond)
	if w.chance(programSlow) {
		fetch = w.between(time.Second, 15*time.Second)
	}
	if !a.step(fetch) {
		return
	}
	finish.FetchedAt = a.x.time.stamp()
	if task.Once {
		var alive bool
		if sequence, alive = a.awaitBegin(sequence); !alive {
			return
		}
	}
	switch {
	case w.elapsed >= a.deadline:
		return // another executor may take the lock at any moment: it must not begin
	case a.cancelled:
		finish.Status = engine.StatusCancelled
		report()
		return
	case a.drained:
		finish.Status, finish.HandedBack = engine.StatusFailed, true
		report()
		return
	case task.Once && !a.mayBegin:
		finish.Status, finish.HandedBack, finish.Unfetched, finish.Error = engine.StatusFailed, true, true, "the engine did not say in time that it may begin"
		report()
		return
	case w.elapsed < w.programsAway || w.chance(programAway):
		finish.Status, finish.HandedBack, finish.Unfetched, finish.Error = engine.StatusFailed, true, true, "its program could not be fetched"
		report()
		return
	}
	finish.StartedAt = a.x.time.stamp()
	a.program = w.journal.start(a)
	refreshAt := w.elapsed + a.x.time.lasts(lockTTL/3)
	progress := w.odds(0.2)
	ending := false
	for !a.program.ended {
		if !a.step(max(refreshAt-w.elapsed, 0)) {
			return
		}
		if a.program.ended {
			break
		}
		if a.cancelled && !ending {
			ending = true
			a.program.terminate(w.between(0, 500*time.Millisecond), "cancelled")
		}
		if a.drained && !ending {
			ending = true
			a.program.terminate(w.between(0, 500*time.Millisecond), "drained")
		}
		if w.elapsed < refreshAt {
			continue
		}
		refreshAt = w.elapsed + a.x.time.lasts(lockTTL/3)
		if !a.refresh() {
			if a.x.group.dead {
				return
			}
			refreshAt = w.elapsed + 500*time.Millisecond
			if a.revision == 0 {
				a.program.end("its lock has passed on")
				return
			}
		}
		if progress && !a.program.ended {
			progress = false
			var ok, alive bool
			next := engine.Result{
				Kind: engine.ResultProgress, Run: task.Run, Attempt: task.Attempt, Shard: task.Shard, Executor: a.x.group.name, Token: a.token,
				At: a.x.time.stamp(), Progress: &engine.Progress{Fraction: 0.5, At: a.x.time.stamp()},
			}
			var stored uint64
			if stored, ok, alive = a.decide(next, sequence); !alive {
				return
			}
			if !ok {
				a.program.end("fenced")
				return
			}
			sequence = stored
		}
	}
	a.program.describe(finish)
	if a.program.why == "watchdog" {
		return // the lock was not refreshed, so the executor may not report; the supervisor declares the loss
	}
	report()
}

// awaitBegin waits until the owner says that the program may begin, for two lives of a lock at most, and asks it again and
// again. It gives the sequence of the last message; false when the executor has died, or the attempt was taken away.
func (a *attempt) awaitBegin(sequence uint64) (uint64, bool) {
	w, task := a.x.w, a.task
	limit, refreshAt := w.elapsed+a.x.time.lasts(2*lockTTL), w.elapsed+a.x.time.lasts(lockTTL/3)
	for !a.mayBegin && !a.cancelled && !a.drained {
		if w.elapsed >= limit || w.elapsed >= a.deadline {
			return sequence, true
		}
		if !a.step(time.Second) {
			return sequence, false
		}
		if w.elapsed >= refreshAt && a.refresh() {
			refreshAt = w.elapsed + a.x.time.lasts(lockTTL/3)
		}
		if a.x.group.dead || a.revision == 0 {
			return sequence, false
		}
		if a.mayBegin {
			break
		}
		stored, ok, alive := a.decide(engine.Result{
			Kind: engine.ResultProgress, Run: task.Run, Attempt: task.Attempt, Shard: task.Shard, Executor: a.x.group.name, Token: a.token,
			At: a.x.time.stamp(), Asks: true,
		}, sequence)
		if !alive || !ok {
			return sequence, false
		}
		sequence = stored
	}
	return sequence, true
}

// refresh gives the lock another life. The deadline counts from before the call.
func (a *attempt) refresh() bool {
	w := a.x.w
	asked := w.elapsed
	if !a.call() {
		return false
	}
	if w.elapsed < a.x.cutUntil || a.x.away() || w.chance(queueRefused) {
		return false
	}
	if revision := a.revision; w.chance(refreshDelayed) {
		sender := a.x.group.name // it may have been killed, and its successor be there, when this arrives
		w.after(w.between(time.Second, 2*lockTTL), func() { w.queue.refreshLate(a.task.Lock, revision, a.task, sender) })
		return false
	}
	revision, ok := w.queue.refresh(a.task.Lock, a.revision, a.task, a.x.group.name)
	if !ok {
		a.revision = 0
		return false
	}
	if w.chance(refreshUnsure) { // what it replaced is asked for again, and found
		return false
	}
	a.revision, a.deadline = revision, asked+a.x.time.lasts(lockTTL-lockMargin)
	if a.program != nil {
		a.program.guard()
	}
	return true
}
