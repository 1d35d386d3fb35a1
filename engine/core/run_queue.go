package core

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/attempt"
)

// enqueue begins the run's next attempt.
func (c *Core) enqueue(r *run) {
	prepared := r.prepared()
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
	// A run that this core has prepared is durable, and so is the end of every run before it: if a crash takes its new status,
	// the same decision is made again and publishes the same attempt. Everything else waits for the commit. So does a run that
	// was prepared by another engine, which may own the shard now, and may have given the run up since it was read.
	again := r.maybePublished
	settled := prepared && !again && r.job.writes == 0 // a run that is not stored is an open write
	c.beginAttempt(r, c.now)
	if settled {
		c.perform(c.publish(r, again))
	} else {
		c.afterCommit(r, c.publish(r, again))
	}
}

func (c *Core) beginAttempt(r *run, at time.Time) {
	attempt.Begin(&r.Run, at)
	r.maybePublished, r.unheard = false, false
	r.requeueChecks = 0
	c.touch(r)
	c.checkLater(r)
	c.alertOfAttempt(r)
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

// Task returns the message for an attempt that is to be claimed, as Awaits says, nil if it is not to be. again is as in engine.Task.
func (c *Core) Task(run string, attempt int, again bool) *engine.Task {
	if !c.Awaits(run, attempt) {
		return nil
	}
	return c.publish(c.runs[run], again).Task
}

// checkLater sets the timer that makes sure that a queued task is still in the queue: JetStream acknowledges before it
// syncs to disk, so a power cut may take what it had acknowledged.
func (c *Core) checkLater(r *run) {
	wait := c.config.Requeue << min(r.requeueChecks, 2)
	r.requeueChecks++
	c.setTimer(&r.timer, c.now.Add(wait), timer{kind: timerInspect, of: r})
}
