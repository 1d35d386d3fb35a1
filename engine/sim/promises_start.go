package sim

import (
	"context"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/spec"
)

// again checks at the start of an attempt's process that it may follow the one before: that has ended, and not well; and
// what is delivered at most once is not tried again where a process was lost.
func (j *journal) again(task *engine.Task) {
	known := j.w.truth.stored[task.Run]
	if known != nil && known.status.Terminal() {
		j.w.fail("nothing starts of what has ended", "attempt %d of run %s starts, and the run is %s", task.Attempt, task.Run, known.status)
	}
	m := j.w.users.byUID[task.JobUID]
	if m != nil {
		if last := &m.revisions[len(m.revisions)-1]; last.deleted && j.w.faults.none && j.w.elapsed > last.elapsed+2*time.Second {
			j.w.fail("what is deleted does not start", "run %s starts %s after the deletion of its job", task.Run, j.w.elapsed-last.elapsed)
		}
		if f := m.formOf(task.Generation); f != nil && f.spec.Overlap != spec.OverlapAllow && task.Lock != task.JobUID {
			j.w.fail("runs that may not overlap share a lock", "run %s starts under lock %s", task.Run, task.Lock)
		}
	}
	if task.Attempt < 2 {
		return
	}
	if before := j.w.queue.subjects[attemptKey(task.Run, task.Attempt-1)]; before != nil {
		switch result := &before.last; {
		case result.Kind == engine.ResultStarted || result.Kind == engine.ResultProgress:
			j.w.fail("one attempt after the other", "attempt %d of run %s starts, and the one before has not ended", task.Attempt, task.Run)
		case result.Kind == engine.ResultFinished && result.Finish.Status == engine.StatusSucceeded && (known == nil || task.Attempt-1 > known.past.base):
			j.w.fail("what has succeeded is not tried again", "attempt %d of run %s starts, and the one before succeeded", task.Attempt, task.Run)
		}
	}
	run, err := j.w.truth.store.Run(context.Background(), task.Run)
	if err != nil {
		return
	}
	if rules := j.w.users.rules(&run); rules == nil || rules.Delivery != spec.DeliveryAtMostOnce {
		return
	}
	for i := min(j.w.truth.stored[run.ID].past.base, len(run.Attempts)); i < min(task.Attempt-1, len(run.Attempts)); i++ {
		before := &run.Attempts[i]
		if _, began := j.started[attemptKey(run.ID, before.N)]; began && before.Status == engine.StatusLost {
			j.w.fail("at most once", "attempt %d of run %s starts, and attempt %d was lost while it ran", task.Attempt, run.ID, before.N)
		}
	}
}

// reportsWithin is how soon an executor that stood still reports what has ended meanwhile.
const reportsWithin = 2 * time.Second

// dies checks that whatever is declared lost does not live; nor has ended while the queue was away, which is reported soon
// after.
func (j *journal) dies(run string, attempt int) {
	for _, p := range j.living[engine.RunJob(run)] {
		if p.attempt.task.Run == run && p.attempt.task.Attempt == attempt {
			j.w.fail("what is declared lost does not run", "attempt %d of run %s does", attempt, run)
		}
	}
	for _, x := range j.w.executors {
		if x.group.dead || j.w.elapsed < x.sleepsUntil+reportsWithin {
			continue
		}
		for _, a := range x.running {
			if a.reporting && a.task.Run == run && a.task.Attempt == attempt {
				j.w.fail("who lived through an outage of the queue is not declared lost", "attempt %d of run %s has ended, and is about to say so", attempt, run)
			}
		}
	}
}

// runsNoMore checks that an engine has no more attempts under way at a time than the bound of their namespace says: what it has
// published for a shard that it still has, and that waits in the queue or runs.
func (e *driver) runsNoMore(by *group, seat shard.Seat, task *engine.Task) {
	if e.w.bound == 0 || by != e.group {
		return
	}
	e.published[attemptKey(task.Run, task.Attempt)] = seat
	n := 0
	for _, waits := range e.w.queue.tasks {
		if waits.by == e.group && waits.seat == e.seats[waits.task.Shard] && !waits.delivered && !e.w.queue.decided[attemptKey(waits.task.Run, waits.task.Attempt)] {
			n++
		}
	}
	for key, seat := range e.published {
		at := e.w.queue.subjects[key]
		if at != nil && seat == e.seats[seat.Shard] && (at.last.Kind == engine.ResultStarted || at.last.Kind == engine.ResultProgress) {
			n++
		}
	}
	if n == e.w.bound {
		e.w.counts.add("gate", "a namespace at its bound")
	}
	if n > e.w.bound {
		e.w.fail("a namespace keeps to its bound", "%d attempts are under way for %s, and the bound is %d", n, e.group.name, e.w.bound)
	}
}

// fillsNoMore checks that an engine lets no more tasks of a lane wait in the queue than its window allows: all are of one namespace
// here. Copies of what is claimed, and what it published before it left a shard, do not count.
func (e *driver) fillsNoMore(task *engine.Task) {
	in, n := placeOf(task).lane, 0
	for at, waits := range e.w.queue.tasks {
		if at.lane == in && waits.by == e.group && waits.seat == e.seats[waits.task.Shard] && !waits.delivered && !e.w.queue.decided[attemptKey(waits.task.Run, waits.task.Attempt)] {
			n++
		}
	}
	if n == e.w.config.Window {
		e.w.counts.add("gate", "a full window")
	}
	if n > e.w.config.Window {
		e.w.fail("no namespace fills the queue", "%d tasks of %s %s wait, and the window of %s is %d", n, in.tier, in.class, e.group.name, e.w.config.Window)
	}
}
