package engine

import (
	"slices"
	"time"
)

// Ready is what has been decided since the last one: a batch to write, and effects to perform once it is durable.
// The shell keeps at most one under way, so that two writes of one run never overtake each other.
type Ready struct {
	Batch *Batch
	After []Effect
	// Upto is the mark (Core.Mark) up to which everything is durable once the batch is.
	Upto uint64
	// Of is how many jobs and DAGs it is about, and Since when the oldest of it was decided.
	Of    int
	Since time.Time

	jobs   []*job
	noting []*job // whose scheduled tasks tell what they have passed over, until that is in the ledger
	waves  []*wave
	ends   []*wave // have ended, which is written once their runs are
	// What this was asked for by, to be cleared with a later batch: should a write of this one be refused, then it is
	// asked for still.
	done []requests
}

// Ready hands out what must be written next, nil when there is nothing to write and nothing waiting for it: what was
// decided first, of at most Config.CommitRuns jobs and DAGs that have as many runs together. Of one job or DAG it is all.
func (c *Core) Ready() *Ready {
	taken := c.pending.take(c.config.CommitRuns)
	if len(taken) == 0 {
		return nil
	}
	r := &Ready{Batch: &Batch{}, Upto: taken[len(taken)-1].number, Of: len(taken), Since: taken[0].since}
	var begun []*run // which is written with a later batch
	for _, p := range taken {
		begun = append(begun, c.collect(r, p)...)
	}
	for _, run := range begun {
		c.touch(run)
	}
	if len(r.Batch.Waves) == 0 && len(r.Batch.Runs) == 0 && len(r.Batch.Tasks) == 0 { // nothing can be refused
		for i := range r.done {
			r.Batch.Handled = append(r.Batch.Handled, r.done[i].handled...)
			r.Batch.HandledDAGs = append(r.Batch.HandledDAGs, r.done[i].handledDAGs...)
			r.Batch.Commands = append(r.Batch.Commands, r.done[i].commands...)
		}
		r.done = nil
	}
	return r
}

// collect adds what is to be written of a job or DAG, and returns its runs that go on with a later batch.
func (c *Core) collect(r *Ready, p *unwritten) (begun []*run) {
	r.After = append(r.After, p.after...)
	r.Batch.DeadLetters = append(r.Batch.DeadLetters, p.letters...)
	r.Batch.DropLetters = append(r.Batch.DropLetters, p.unletter...)
	r.Batch.Handled = append(r.Batch.Handled, p.clear.handled...)
	r.Batch.HandledDAGs = append(r.Batch.HandledDAGs, p.clear.handledDAGs...)
	r.Batch.Commands = append(r.Batch.Commands, p.clear.commands...)
	if !p.done.empty() {
		p.done.uid = p.uid
		r.done = append(r.done, p.done)
	}
	r.Batch.Runs = slices.Grow(r.Batch.Runs, len(p.runs)+len(p.drops))
	r.jobs = slices.Grow(r.jobs, len(p.runs)+len(p.drops)+len(p.jobs))
	for _, dropped := range p.drops {
		// The write before reports whether the run is still what it was: what follows from its removal must not be done else.
		last := dropped.Run.Clone()
		last.Status = StatusScheduled
		last.Revision++
		r.Batch.Runs = append(r.Batch.Runs, RunWrite{Run: last})
		r.Batch.DropRuns = append(r.Batch.DropRuns, last.Drop())
		r.jobs = append(r.jobs, dropped.job)
	}
	r.Batch.Runs = append(r.Batch.Runs, p.ahead...)
	for _, run := range p.runs {
		ahead := run.fresh && run.Status == StatusScheduled && slices.ContainsFunc(p.ahead, run.sameRoot)
		run.dirty, run.fresh = false, false
		if run.gone() {
			run.job.writes-- // dropped before this change of it was written
			continue
		}
		run.Revision++
		r.jobs = append(r.jobs, run.job)
		if run.Revision == 1 && run.ofPassedSlot() && run.Status != StatusScheduled {
			r.Batch.Runs = append(r.Batch.Runs, RunWrite{Run: run.asPrepared()})
			begun = append(begun, run)
			continue
		}
		r.Batch.Runs = append(r.Batch.Runs, RunWrite{Run: run.Run.Clone(), Ahead: ahead})
		run.GivenUp = nil // the ledger has it before the next write
	}
	for _, d := range p.turns {
		r.Batch.Tasks = append(r.Batch.Tasks, d.turnWrite(c.config.Writer))
	}
	for _, w := range p.waves {
		if w.Status.Terminal() && w.Epoch > 0 && !w.last {
			r.ends = append(r.ends, w)
			if !w.shown {
				r.Batch.Waves = append(r.Batch.Waves, WaveWrite{Wave: w.asRunning()})
			}
			continue
		}
		w.dirty, w.shown = false, true
		w.Revision++
		r.Batch.Waves = append(r.Batch.Waves, WaveWrite{Wave: w.Wave})
		r.waves = append(r.waves, w)
	}
	var passed map[*job][]SlotRange
	for _, slots := range p.slots {
		slots.dirty = false
		r.Batch.Slots = append(r.Batch.Slots, slots.SlotRange)
		if slots.by == nil {
			if passed == nil {
				passed = map[*job][]SlotRange{}
			}
			passed[slots.job] = append(passed[slots.job], slots.SlotRange)
		}
	}
	for _, job := range p.jobs {
		job.taskDirty = false
		switch slots := passed[job]; {
		case job.task != nil || len(slots) > 0:
			r.Batch.Tasks = append(r.Batch.Tasks, TaskWrite{Task: job.noting(slots, c.config.Writer)})
			job.taskStored = true
			if len(slots) > 0 {
				r.noting = append(r.noting, job)
			}
		case job.taskStored:
			job.taskStored = false
			r.Batch.Tasks = append(r.Batch.Tasks, TaskWrite{Task: ScheduledTask{ID: job.uid, Shard: job.shard()}, Delete: true})
		default:
			job.writes-- // planned and given up before anybody saw it
			continue
		}
		r.jobs = append(r.jobs, job)
	}
	return begun
}

// ofPassedSlot reports whether the run is one that the scheduled task of a job passes its slot over for.
func (r *run) ofPassedSlot() bool {
	return r.Task == "" && (r.Trigger == TriggerSchedule || r.Trigger == TriggerCatchUp)
}

// asPrepared is the run as if it waited for its slot, for the batch that makes it. The scheduled task is written after
// it, and may be refused: then another owner has decided otherwise of the slot, and what is left is taken back like any
// prepared run.
func (r *run) asPrepared() Run {
	prepared := r.Run.Clone()
	prepared.Status, prepared.Reason, prepared.CancelBy, prepared.Attempt, prepared.Attempts = StatusScheduled, "", "", 0, nil
	prepared.QueuedAt, prepared.FinishedAt, prepared.RetryAt = time.Time{}, time.Time{}, time.Time{}
	return prepared
}

// writeAhead writes a root's run as it was prepared, and its scheduled task, before what it leads to. Should the task be
// refused, nothing else has been done.
func (c *Core) writeAhead(r *run) {
	r.fresh = false
	r.Revision++
	p := c.unwritten(r.job.owner())
	p.ahead = append(p.ahead, RunWrite{Run: r.asPrepared(), Ahead: true})
}

// sameRoot reports whether a write is of the same root as the run.
func (r *run) sameRoot(write RunWrite) bool {
	return write.Run.JobUID == r.JobUID && write.Run.Task == r.Task
}

// turnWrite says which wave of a DAG opened last; of a deleted DAG nobody asks that any more.
func (d *dagState) turnWrite(writer int64) TaskWrite {
	if !d.turned {
		id := d.turn.ID
		d.turn = nil
		return TaskWrite{Task: ScheduledTask{ID: id, Shard: d.shard}, Delete: true}
	}
	d.turned = false
	last := d.open
	if last == nil {
		last = d.closing
	}
	d.turn.Revision++
	d.turn.Epoch, d.turn.Job, d.turn.Writer = last.Epoch, last.ID, writer
	return TaskWrite{Task: *d.turn}
}

// Committed says that a Ready's batch is durable. The core then forgets jobs that nothing is going on with.
func (c *Core) Committed(r *Ready) {
	c.effects = nil
	c.cleared(r.Batch)
	for i := range r.done {
		known := &c.unwritten(r.done[i].uid).clear
		known.handled = append(known.handled, r.done[i].handled...)
		known.handledDAGs = append(known.handledDAGs, r.done[i].handledDAGs...)
		known.commands = append(known.commands, r.done[i].commands...)
	}
	for _, w := range r.waves {
		w.stored = true
		w.dag.writes--
		if w.dag.closing == w && w.last {
			w.dag.closing = nil
		}
	}
	for _, job := range r.noting {
		c.touchTask(job)
	}
	for _, job := range r.jobs {
		job.writes--
		c.forgetEnded(job)
		c.forgetIfIdle(job)
	}
	for _, w := range r.ends {
		w.last = true
		p := c.unwritten(w.dag.uid)
		p.waves = append(p.waves, w)
	}
	for _, w := range r.waves {
		c.nextWave(w.dag)
		c.settleDAG(w.dag)
		if len(c.effects) > 0 { // of the next wave: they wait for it
			p := c.unwritten(w.dag.uid)
			p.after = append(p.after, c.effects...)
			c.effects = nil
		}
	}
}

// forgetEnded forgets runs that have ended once whoever reads the store reads them so.
func (c *Core) forgetEnded(j *job) {
	if j.writes == 0 && c.held[j.owner()] == 0 {
		j.ended, j.recent = nil, nil
	}
}

// forgetIfIdle drops a job from memory once the store knows all of it and its next slot is beyond the horizon.
func (c *Core) forgetIfIdle(j *job) {
	if j.dag != nil {
		c.forgetTask(j)
		return
	}
	if len(j.live) > 0 || j.writes > 0 || c.held[j.uid] > 0 || c.jobs[j.uid] != j {
		return
	}
	if j.task != nil && !j.task.RunAt.After(c.horizon) {
		return
	}
	c.stopTimer(&j.timer)
	delete(c.jobs, j.uid)
}

func (c *Core) touch(r *run) {
	if !r.dirty {
		r.dirty = true
		r.job.writes++
		p := c.unwritten(r.job.owner())
		p.runs = append(p.runs, r)
	}
}

func (c *Core) touchTask(j *job) {
	if !j.taskDirty {
		j.taskDirty = true
		j.writes++
		p := c.unwritten(j.owner())
		p.jobs = append(p.jobs, j)
	}
}

// gone reports whether a run was dropped before it was ever written.
func (r *run) gone() bool { return r.Status == StatusInvalid }
