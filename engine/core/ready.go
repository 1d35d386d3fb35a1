package core

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Ready is what has been decided since the last one: what is to be written, and the effects to perform once it is durable.
// The shell keeps at most one of a core under way.
type Ready struct {
	Batch *engine.Batch
	After []Effect
	// Upto is the mark (Core.Mark) up to which everything is durable once the decision is.
	Upto uint64
	// Of is how many jobs and DAGs it is about, and Since when the oldest of it was decided.
	Of    int
	Since time.Time

	runs  []*run
	jobs  []*job
	waves []*waveState
}

// Ready hands out what must be written next, nil when there is nothing to write and nothing waiting for it: what was
// decided first, of at most Config.CommitRuns jobs and DAGs that have as many runs together. Of one job or DAG it is all.
func (c *Core) Ready() *Ready {
	taken := c.pending.take(c.config.CommitRuns)
	if len(taken) == 0 {
		return nil
	}
	r := &Ready{Batch: &engine.Batch{}, Upto: taken[len(taken)-1].number, Of: len(taken), Since: taken[0].since}
	for _, u := range taken {
		r.collect(u)
	}
	return r
}

// collect adds what is to be written of a job or DAG.
func (r *Ready) collect(u *unwritten) {
	d := r.Batch
	r.After = append(r.After, u.after...)
	d.DeadLetters = append(d.DeadLetters, u.letters...)
	d.DropLetters = append(d.DropLetters, u.unletter...)
	if u.ofDAG {
		d.HandledDAGs = append(d.HandledDAGs, u.handled...)
	} else {
		d.Handled = append(d.Handled, u.handled...)
	}
	d.Done = append(d.Done, u.done...)
	for _, run := range u.runs {
		run.dirty = false
		if run.gone() {
			run.job.writes-- // dropped before this change of it was written
			continue
		}
		run.Revision++
		run.writing = true
		r.runs = append(r.runs, run)
		d.Runs = append(d.Runs, run.Run.Clone())
		r.jobs = append(r.jobs, run.job)
	}
	for _, dropped := range u.drops {
		d.DropRuns = append(d.DropRuns, dropped.ID)
		r.jobs = append(r.jobs, dropped.job)
	}
	for _, w := range u.waves {
		w.dirty = false
		w.Revision++
		d.Waves = append(d.Waves, w.Wave.Wave)
		r.waves = append(r.waves, w)
	}
	for _, slots := range u.slots {
		slots.dirty = false
		d.Slots = append(d.Slots, slots.SlotRange)
	}
	for _, e := range u.incidents {
		if notify, due := e.Collect(d); due {
			r.After = append(r.After, Notify{notify})
		}
	}
	for _, job := range u.jobs {
		job.taskDirty = false
		switch {
		case job.task != nil:
			job.task.Revision++
			d.Tasks = append(d.Tasks, *job.task)
			job.taskStored = true
		case job.taskStored:
			d.DropTasks = append(d.DropTasks, job.uid)
			job.taskStored = false
		default:
			job.writes-- // planned and given up before it was written
			continue
		}
		r.jobs = append(r.jobs, job)
	}
}

// Committed tells the core that a Ready's decision is durable. The core then forgets jobs without anything active.
func (c *Core) Committed(r *Ready) {
	for _, handled := range slices.Concat(r.Batch.Handled, r.Batch.HandledDAGs) {
		if c.acting[handled.UID]--; c.acting[handled.UID] <= 0 {
			delete(c.acting, handled.UID)
		}
	}
	c.incidents.Forget(r.Batch.DropIncidents)
	for _, w := range r.waves {
		w.dag.writes--
	}
	for _, run := range r.runs {
		run.writing = false
	}
	for _, job := range r.jobs {
		job.writes--
		c.forgetEnded(job)
		c.forgetIfIdle(job)
	}
	for _, w := range r.waves {
		c.forgetOver(w.dag)
		c.forgetDAGIfIdle(w.dag)
	}
}
