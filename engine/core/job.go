package core

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// loadJob takes a job from the store. What the core holds already is newer than any snapshot, but for the
// definition, which users change.
func (c *Core) loadJob(s *JobSnapshot) {
	j := c.jobs[s.UID]
	if j != nil {
		for generation, definition := range s.Specs { // of a run that is tried again
			if j.specs[generation] == nil {
				j.specs[generation] = &definition
			}
		}
		if s.Job != nil && j.specs[s.Job.Generation] == nil { // read before an edit that the core knows
			definition := s.Job.Spec
			j.specs[s.Job.Generation] = &definition
		}
		c.redefine(j, s)
		return
	}
	j = &job{uid: s.UID, specs: map[int64]*spec.Job{}}
	if len(s.Runs) > 0 { // of a deleted job nothing else tells
		j.namespace, j.name = s.Runs[0].Namespace, s.Runs[0].Job
	}
	for generation, definition := range s.Specs {
		j.specs[generation] = &definition
	}
	if s.Task != nil {
		j.takeTask(*s.Task)
	}
	c.jobs[s.UID] = j
	c.define(j, s.Job)
	for i := range s.Runs {
		c.adopt(j, s.Runs[i].Clone())
	}
	// Whoever is due first is looked at first, as it was before the crash.
	slices.SortStableFunc(j.live, func(a, b *run) int { return a.due().Compare(b.due()) })
	adopted := append([]*run(nil), j.live...)
	c.takeBackPrepared(j)
	c.plan(j)
	for _, r := range adopted {
		c.resume(r)
	}
	c.goOn(j)
	c.finishLoad(j, s)
}

// takeTask takes the job's scheduled task from the store.
func (j *job) takeTask(task engine.ScheduledTask) { j.task, j.taskStored = &task, true }

// hasEnded reports whether what is to be written of a job or DAG holds the end of a run.
func (c *Core) hasEnded(uid, id string) bool {
	u := c.pending.of[uid]
	return u != nil && c.runs[id] == nil && u.puts(id)
}

// due is when a run may first be queued.
func (r *run) due() time.Time {
	switch {
	case !r.NotBefore.IsZero():
		return r.NotBefore
	case !r.Slot.IsZero() && r.Trigger != engine.TriggerBackfill:
		return r.Slot
	}
	return r.CreatedAt
}

// redefine brings a new revision of a definition to a job in memory.
func (c *Core) redefine(j *job, s *JobSnapshot) {
	known := s.Job != nil && s.Job.Revision <= j.revision // a slow read may even be older
	if gone := j.def == nil && s.Job == nil; known || gone {
		c.finishLoad(j, s)
		return
	}
	c.define(j, s.Job)
	c.takeBackPrepared(j)
	c.plan(j)
	if j.def == nil {
		for _, r := range append([]*run(nil), j.live...) {
			c.abandon(r)
		}
	}
	c.finishLoad(j, s)
}

func (c *Core) finishLoad(j *job, s *JobSnapshot) {
	c.idle = append(c.idle, j)
	if s.Job == nil || !s.Job.Pending || s.Job.Revision < j.revision {
		return
	}
	handled := engine.JobHandled{UID: s.Job.UID, Namespace: s.Job.Namespace, Name: s.Job.Name, Revision: s.Job.Revision}
	if s.Job.Deleted && len(j.live) > 0 { // its generations go with it, and what runs still needs them after a crash
		j.tombstone = &handled
		return
	}
	c.handled(j.uid, handled)
}

// define sets a job's definition and compiles its schedule. A tombstone is no definition.
func (c *Core) define(j *job, def *engine.Job) {
	j.binary = ""
	if def == nil {
		j.def, j.schedule = nil, nil
		return
	}
	copied := *def
	j.revision = def.Revision
	j.namespace, j.name = def.Namespace, def.Name
	j.specs[def.Generation] = &copied.Spec
	if def.Deleted {
		j.def, j.schedule = nil, nil
		return
	}
	j.def = &copied
	if ref, err := copied.Spec.Binding(); err == nil && ref.Name != "" {
		j.binary = def.Namespace + "/" + ref.Name
	}
	j.schedule = compile(&copied.Spec, &copied)
	j.open = nil
}

// compile gives nil for a definition that has no usable schedule. The API refuses faulty ones; one that came into
// the store by another way is left alone rather than guessed at.
func compile(s *spec.Job, def *engine.Job) *cron.Schedule {
	schedule, err := cron.Compile(s.Definition(def.Key(), def.CreatedAt))
	if err != nil {
		return nil
	}
	return schedule
}

// plan makes the job's scheduled task say what its definition says, accounts for slots that have passed, and sets
// the timer for the next.
func (c *Core) plan(j *job) {
	c.stopTimer(&j.timer)
	j.postpone = false
	if j.def == nil {
		c.unplan(j)
		return
	}
	if j.schedule == nil || j.schedule.Kind() == cron.KindManual {
		c.stopPlanning(j)
		return
	}
	switch {
	case j.task == nil:
		c.firstSlot(j)
	case j.task.Generation != j.def.Generation:
		c.replan(j)
	}
	if j.task.Slot.Equal(engine.Parked) {
		return
	}
	if j.schedule.Kind() == cron.KindAfter {
		c.planAfter(j)
		return
	}
	c.park(j)
	if !j.def.Paused {
		c.arm(j)
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// latestLiveSlot gives the latest slot of the runs that have not ended.
func (j *job) latestLiveSlot() time.Time {
	var latest time.Time
	for _, r := range j.live {
		if r.Slot.After(latest) {
			latest = r.Slot
		}
	}
	return latest
}

// hasRunAt reports whether a run of a slot is among those that have not ended.
func (j *job) hasRunAt() bool { return !j.latestLiveSlot().IsZero() }

// setSlot plans the next slot. Where there is none any more the task stays, parked for good.
func (c *Core) setSlot(j *job, slot time.Time, ok bool) {
	if !ok {
		slot = engine.Parked
	}
	if j.task == nil {
		j.task = &engine.ScheduledTask{ID: j.uid, Shard: j.def.Shard, Namespace: j.def.Namespace, Job: j.def.Name}
	}
	j.task.Slot = slot.UTC().Truncate(time.Millisecond)
	if slot.After(j.task.Slot) {
		j.task.Slot = j.task.Slot.Add(time.Millisecond)
	}
	j.task.RunAt = j.task.Slot
	j.task.Generation = j.def.Generation
	if len(j.task.Taken) > 0 && !j.delays() { // into memory of its own: an earlier form of the task may be on its way to the store
		j.task.Taken = slices.DeleteFunc(slices.Clone(j.task.Taken), func(taken time.Time) bool { return taken.Before(j.task.Slot) })
	}
	if j.dag != nil {
		j.task.Epoch = j.dag.joins(j.taskName)
		c.idleDAGs = append(c.idleDAGs, j.dag)
	}
	c.touchTask(j)
}

// keptDelays is how many of its latest slots a fixed delay remembers, for an edit that is seen late.
const keptDelays = 32

// delays reports whether the job's schedule is a fixed delay.
func (j *job) delays() bool { return j.schedule != nil && j.schedule.Kind() == cron.KindAfter }

// take remembers that a slot which the task has not passed has a run.
func (c *Core) take(j *job, slot time.Time) {
	if !j.task.Takes(slot) {
		j.task.Taken = append(slices.Clone(j.task.Taken), slot)
		c.touchTask(j)
	}
}

// account remembers that a slot is a run, or in the ledger.
func (c *Core) account(j *job, slot time.Time) {
	if j.task != nil && slot.After(j.task.Accounted) {
		j.task.Accounted = slot
		if j.delays() { // nothing else tells where its slots were
			taken := append(slices.Clone(j.task.Taken), slot)
			j.task.Taken = taken[max(0, len(taken)-keptDelays):]
		}
		c.touchTask(j)
	}
}

// stopPlanning parks the task of a definition that has no schedule any more.
func (c *Core) stopPlanning(j *job) {
	if j.task == nil || j.task.Generation == j.def.Generation {
		return
	}
	c.closeOld(j)
	c.setSlot(j, engine.Parked, true)
	j.task.Since = j.task.Accounted
}

// unplan removes the task of a definition that is deleted.
func (c *Core) unplan(j *job) {
	c.stopTimer(&j.timer)
	if j.task != nil {
		j.task = nil
		c.touchTask(j)
	}
}

// arm sets the timer that prepares the next slot.
func (c *Core) arm(j *job) {
	if j.task == nil || j.task.RunAt.Equal(engine.Parked) {
		return
	}
	at := j.task.Slot.Add(-c.config.Lead)
	if j.task.Slot.Before(c.now.Add(-c.config.Grace)) {
		at = c.now.Add(time.Millisecond) // more slots have passed than one step looks at: others have their turn first
	}
	c.setTimer(&j.timer, at, timer{kind: timerPrepare, job: j})
}

// prepare makes the run of the next slot shortly before it, so that at the slot only the task is left to publish.
func (c *Core) prepare(j *job) {
	if j.task == nil || j.def == nil || j.def.Paused || j.schedule == nil {
		return
	}
	slot := j.task.Slot
	if c.now.Before(slot.Add(-c.config.Lead)) { // the wall clock went back
		c.arm(j)
		return
	}
	if j.schedule.Kind() == cron.KindAfter {
		c.prepareAfter(j)
		return
	}
	if c.now.After(slot.Add(c.config.Grace)) {
		if c.waitsItsTurn(j) {
			j.postpone = true
			return
		}
		c.overdue(j, c.now, engine.ReasonOutage)
		c.arm(j)
		return
	}
	if j.task.Takes(slot) {
		c.advance(j)
		c.arm(j)
		return
	}
	if j.schedule.Excluded(slot) {
		c.note(j, slot, engine.OutcomeSkipped, engine.ReasonBlackout)
		c.advance(j)
		c.arm(j)
		return
	}
	if c.waitsItsTurn(j) {
		j.postpone = true
		c.stopTimer(&j.timer)
		return
	}
	if c.inTheWay(j) && j.def.Spec.Overlap == spec.OverlapSkip && c.now.Before(slot) {
		// It would most likely be skipped: decide at the slot, or as soon as the live run ends.
		j.postpone = true
		c.setTimer(&j.timer, slot, timer{kind: timerPrepare, job: j})
		return
	}
	j.postpone = false
	c.advance(j)
	c.begin(j, slot, engine.TriggerSchedule, "")
	c.arm(j)
}

// inTheWay reports whether a slot that came now would meet the run, or the wave, before it.
func (c *Core) inTheWay(j *job) bool {
	if j.dag != nil {
		return j.dag.blocked(j.taskName)
	}
	return c.blocker(j, nil) != nil
}

// advance moves the scheduled task to the slot after its present one.
func (c *Core) advance(j *job) {
	next, ok := j.schedule.Next(j.task.Slot)
	c.setSlot(j, next, ok)
}

// begin makes the run of a slot and sets it going, now or at its slot.
func (c *Core) begin(j *job, slot time.Time, trigger engine.Trigger, by string) {
	if j.dag != nil {
		c.beginRoot(j, slot, trigger, by)
		return
	}
	r := c.newRun(j, engine.SlotRunID(j.uid, slot), trigger)
	if r == nil {
		return
	}
	r.Slot, r.By = slot, by
	if j.task != nil && trigger == engine.TriggerBackfill && !slot.Before(j.task.Slot) {
		c.take(j, slot)
	} else {
		c.account(j, slot)
	}
	c.resume(r)
}
