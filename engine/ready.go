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

	jobs   []*job
	noting []*job // whose scheduled tasks tell what they have passed over, until that is in the ledger
	waves  []*wave
	ends   []*wave // have ended, which is written once their runs are
	// What this was asked for by, to be cleared with the next batch: should a write of this one be refused, then it is
	// asked for still.
	handled     []JobHandled
	handledDAGs []JobHandled
	commands    []string
}

// ready collects the next Ready.
type ready struct {
	waves    []*wave
	runs     []*run // dirty, in the order in which they became so
	jobs     []*job // whose task is dirty
	slots    []*ledgerRange
	letters  []DeadLetter
	unletter []string
	drops    []*run
	handled  []JobHandled
	commands []string
	after    []Effect

	handledDAGs []JobHandled
	turns       []*dagState
	ahead       []RunWrite // roots that have gone, as they were prepared

	clearHandled  []JobHandled // of batches that are durable
	clearDAGs     []JobHandled
	clearCommands []string
}

// Ready hands out what must be written, nil when there is nothing to write and nothing waiting for it.
func (c *Core) Ready() *Ready {
	p := &c.pending
	if len(p.runs) == 0 && len(p.jobs) == 0 && len(p.slots) == 0 && len(p.letters) == 0 && len(p.unletter) == 0 &&
		len(p.waves) == 0 && len(p.turns) == 0 && len(p.handledDAGs) == 0 && len(p.drops) == 0 && len(p.handled) == 0 && len(p.commands) == 0 && len(p.after) == 0 && len(p.clearHandled) == 0 && len(p.clearDAGs) == 0 && len(p.clearCommands) == 0 {
		return nil
	}
	r := &Ready{Batch: &Batch{
		DeadLetters: p.letters, DropLetters: p.unletter, Handled: p.clearHandled, HandledDAGs: p.clearDAGs, Commands: p.clearCommands,
	}, After: p.after, handled: p.handled, handledDAGs: p.handledDAGs, commands: p.commands}
	r.Batch.Runs = slices.Grow(r.Batch.Runs, len(p.runs)+len(p.drops))
	r.jobs = slices.Grow(r.jobs, len(p.runs)+len(p.drops)+len(p.jobs))
	for _, dropped := range p.drops {
		// The write before tells whether the run is still what it was: what follows from its removal must not be done else.
		last := dropped.Run.Clone()
		last.Status = StatusScheduled
		last.Revision++
		r.Batch.Runs = append(r.Batch.Runs, RunWrite{Run: last})
		r.Batch.DropRuns = append(r.Batch.DropRuns, last.Drop())
		r.jobs = append(r.jobs, dropped.job)
	}
	r.Batch.Runs = append(r.Batch.Runs, p.ahead...)
	var begun []*run // which is written with the next batch
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
	passed := map[*job][]SlotRange{}
	for _, slots := range p.slots {
		slots.dirty = false
		r.Batch.Slots = append(r.Batch.Slots, slots.SlotRange)
		if slots.by == nil {
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
	c.pending = ready{}
	for _, run := range begun {
		c.touch(run)
	}
	if len(r.Batch.Waves) == 0 && len(r.Batch.Runs) == 0 && len(r.Batch.Tasks) == 0 { // nothing can be refused
		r.Batch.Handled = append(r.Batch.Handled, r.handled...)
		r.Batch.HandledDAGs = append(r.Batch.HandledDAGs, r.handledDAGs...)
		r.Batch.Commands = append(r.Batch.Commands, r.commands...)
		r.handled, r.handledDAGs, r.commands = nil, nil, nil
	}
	return r
}

// ofPassedSlot tells whether the run is one that the scheduled task of a job passes its slot over for.
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
	c.pending.ahead = append(c.pending.ahead, RunWrite{Run: r.asPrepared(), Ahead: true})
}

// sameRoot tells whether a write is of the same root as the run.
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
	defer func() { c.pending.after, c.effects = append(c.pending.after, c.effects...), nil }() // for the next wave
	c.pending.clearHandled = append(c.pending.clearHandled, r.handled...)
	c.pending.clearDAGs = append(c.pending.clearDAGs, r.handledDAGs...)
	c.pending.clearCommands = append(c.pending.clearCommands, r.commands...)
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
		c.pending.waves = append(c.pending.waves, w)
	}
	for _, w := range r.waves {
		c.nextWave(w.dag)
		c.settleDAG(w.dag)
	}
}

// forgetEnded forgets runs that have ended once whoever reads the store reads them so.
func (c *Core) forgetEnded(j *job) {
	uid := j.uid
	if j.dag != nil {
		uid = j.dag.uid
	}
	if j.writes == 0 && c.held[uid] == 0 {
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
		c.pending.runs = append(c.pending.runs, r)
	}
}

func (c *Core) touchTask(j *job) {
	if !j.taskDirty {
		j.taskDirty = true
		j.writes++
		c.pending.jobs = append(c.pending.jobs, j)
	}
}

// gone tells whether a run was dropped before it was ever written.
func (r *run) gone() bool { return r.Status == StatusInvalid }
