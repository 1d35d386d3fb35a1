package engine

import (
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/spec"
)

// loadJob takes a job from the store. What the core holds already is newer than any snapshot, but for the
// definition, which users change.
func (c *Core) loadJob(s *JobSnapshot) {
	j := c.jobs[s.UID]
	if j != nil {
		c.redefine(j, s)
		return
	}
	j = &job{uid: s.UID, specs: map[int64]*spec.Job{}}
	for generation, definition := range s.Specs {
		j.specs[generation] = &definition
	}
	if s.Task != nil {
		task := *s.Task
		j.task, j.taskStored = &task, true
	}
	c.jobs[s.UID] = j
	c.define(j, s.Job)
	for i := range s.Runs {
		c.adopt(j, s.Runs[i].Clone())
	}
	c.takeBackPrepared(j)
	c.plan(j, s.SlotRun)
	for _, r := range append([]*run(nil), j.live...) {
		c.resume(r)
	}
	c.finishLoad(j, s)
}

// redefine brings a new revision of a definition to a job in memory.
func (c *Core) redefine(j *job, s *JobSnapshot) {
	if s.Job != nil && j.def != nil && s.Job.Revision <= j.def.Revision {
		c.finishLoad(j, s)
		return
	}
	c.define(j, s.Job)
	c.takeBackPrepared(j)
	c.plan(j, nil)
	if j.def == nil {
		for _, r := range append([]*run(nil), j.live...) {
			c.abandon(r)
		}
	}
	c.finishLoad(j, s)
}

func (c *Core) finishLoad(j *job, s *JobSnapshot) {
	if s.Job != nil && s.Job.Pending {
		c.pending.handled = append(c.pending.handled, JobHandled{
			UID: s.Job.UID, Namespace: s.Job.Namespace, Name: s.Job.Name, Revision: s.Job.Revision,
		})
	}
	c.idle = append(c.idle, j)
}

// define sets a job's definition and compiles its schedule. A tombstone is no definition.
func (c *Core) define(j *job, def *Job) {
	if def == nil || def.Deleted {
		j.def, j.schedule = nil, nil
		return
	}
	copied := *def
	j.def = &copied
	j.specs[def.Generation] = &copied.Spec
	j.schedule = compile(&copied.Spec, &copied)
	j.open = nil
}

// compile gives nil for a definition that has no usable schedule. The API refuses faulty ones; one that came into
// the store by another way is left alone rather than guessed at.
func compile(s *spec.Job, def *Job) *cron.Schedule {
	schedule, err := cron.Compile(s.Definition(def.Key(), def.CreatedAt))
	if err != nil {
		return nil
	}
	return schedule
}

// plan makes the job's scheduled task say what its definition says, accounts for slots that have passed, and sets
// the timer for the next.
func (c *Core) plan(j *job, slotRun *Run) {
	c.stopTimer(&j.timer)
	j.postpone = false
	if j.def == nil || j.schedule == nil || j.schedule.Kind() == cron.KindManual {
		c.unplan(j)
		return
	}
	switch {
	case j.task == nil:
		c.firstSlot(j)
	case j.task.Generation != j.def.Generation:
		c.replan(j)
	}
	if j.task.Slot.Equal(Parked) {
		return
	}
	if j.schedule.Kind() == cron.KindAfter {
		c.planAfter(j, slotRun)
		return
	}
	c.park(j)
	if j.def.Paused {
		return
	}
	c.arm(j)
}

// park stops or restarts the job's clock as Paused says, and on a restart deals with the slots of the pause.
func (c *Core) park(j *job) {
	parked := j.task.RunAt.Equal(Parked)
	switch {
	case j.def.Paused && !parked:
		c.overdue(j, ReasonOutage)
		j.task.RunAt = Parked
		c.touchTask(j)
	case !j.def.Paused && parked:
		j.task.RunAt = j.task.Slot
		c.touchTask(j)
		c.overdue(j, ReasonPaused)
	case !j.def.Paused:
		c.overdue(j, ReasonOutage)
	}
}

// firstSlot plans a job that has no scheduled task: a new one, or one that had no schedule before.
func (c *Core) firstSlot(j *job) {
	since := j.def.UpdatedAt
	if j.schedule.Kind() == cron.KindAt && j.def.Generation == 1 {
		since = time.Time{} // a moment that passed while the definition was on its way is late, not gone
	}
	if j.schedule.Kind() == cron.KindAfter {
		c.setSlot(j, since, true)
		return
	}
	slot, ok := j.schedule.Next(since)
	c.setSlot(j, slot, ok)
}

// hasRunAt tells whether a run of a slot is among those that have not ended.
func (j *job) hasRunAt() bool {
	for _, r := range j.live {
		if !r.Slot.IsZero() {
			return true
		}
	}
	return false
}

// replan moves a scheduled task from the generation it was made for to the present one. Slots of the old schedule
// that passed before the edit are accounted for under the old rules first.
func (c *Core) replan(j *job) {
	edited := j.def.UpdatedAt
	if old := j.specs[j.task.Generation]; old != nil && !j.task.Slot.After(edited) {
		previous := *j.def
		previous.Spec = *old
		schedule, def := j.schedule, j.def
		j.schedule, j.def = compile(old, &previous), &previous
		if j.schedule != nil && j.schedule.Kind() != cron.KindAfter {
			reason := ReasonOutage
			if j.task.RunAt.Equal(Parked) {
				reason = ReasonPaused
			}
			c.overdueUntil(j, edited, reason)
		}
		j.schedule, j.def = schedule, def
		j.open = nil
	}
	parked := j.task.RunAt.Equal(Parked)
	since := edited
	for _, r := range j.live { // a slot that is prepared, or fired, is not planned again
		if r.Slot.After(since) {
			since = r.Slot
		}
	}
	if j.schedule.Kind() == cron.KindAfter {
		if !j.hasRunAt() {
			c.setSlot(j, since, true)
		} else {
			c.setSlot(j, j.task.Slot, true)
		}
		return
	}
	slot, ok := j.schedule.Next(since)
	c.setSlot(j, slot, ok)
	if parked {
		j.task.RunAt = Parked
	}
}

// setSlot plans the next slot. Where there is none any more the task stays, parked for good: a job without a task is
// one that was never planned.
func (c *Core) setSlot(j *job, slot time.Time, ok bool) {
	if !ok {
		slot = Parked
	}
	if j.task == nil {
		j.task = &ScheduledTask{ID: j.uid, Shard: j.def.Shard, Namespace: j.def.Namespace, Job: j.def.Name}
	}
	j.task.Slot = slot.UTC().Truncate(time.Millisecond)
	if slot.After(j.task.Slot) {
		j.task.Slot = j.task.Slot.Add(time.Millisecond)
	}
	j.task.RunAt = j.task.Slot
	j.task.Generation = j.def.Generation
	c.touchTask(j)
}

func (c *Core) unplan(j *job) {
	c.stopTimer(&j.timer)
	if j.task != nil {
		j.task = nil
		c.touchTask(j)
	}
}

// arm sets the timer that prepares the next slot.
func (c *Core) arm(j *job) {
	if j.task == nil || j.task.RunAt.Equal(Parked) {
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
		c.overdue(j, ReasonOutage)
		c.arm(j)
		return
	}
	if j.schedule.Excluded(slot) {
		c.note(j, slot, OutcomeSkipped, ReasonBlackout)
		c.advance(j)
		c.arm(j)
		return
	}
	if c.blocker(j, nil) != nil && j.def.Spec.Overlap == spec.OverlapSkip && c.now.Before(slot) {
		// It would most likely be skipped: decide at the slot, or as soon as the live run ends.
		j.postpone = true
		c.setTimer(&j.timer, slot, timer{kind: timerPrepare, job: j})
		return
	}
	j.postpone = false
	c.advance(j)
	c.begin(j, slot, TriggerSchedule, "")
	c.arm(j)
}

// advance moves the scheduled task to the slot after its present one.
func (c *Core) advance(j *job) {
	next, ok := j.schedule.Next(j.task.Slot)
	c.setSlot(j, next, ok)
}

// begin makes the run of a slot and sets it going, now or at its slot.
func (c *Core) begin(j *job, slot time.Time, trigger Trigger, by string) {
	r := c.newRun(j, SlotRunID(j.uid, slot), trigger)
	if r == nil {
		return
	}
	r.Slot, r.By = slot, by
	c.resume(r)
}

// takeBackPrepared undoes prepared runs whose slot has not come, after an edit, a pause or a deletion. A slot that
// the new definition names too keeps its run, made anew.
func (c *Core) takeBackPrepared(j *job) {
	for _, r := range append([]*run(nil), j.live...) {
		if r.Status != StatusScheduled || r.Trigger != TriggerSchedule || r.Waiting || !r.Slot.After(c.now) {
			continue
		}
		if j.def != nil && !j.def.Paused && r.Generation == j.def.Generation {
			continue
		}
		if j.def != nil && !j.def.Paused && j.schedule != nil && names(j.schedule, r.Slot) && !j.schedule.Excluded(r.Slot) {
			c.pin(r)
			c.touch(r)
			continue
		}
		reason := ReasonEdited
		switch {
		case j.def != nil && j.def.Paused:
			reason = ReasonPaused
		case j.def != nil && j.schedule != nil && j.schedule.Excluded(r.Slot):
			reason = ReasonBlackout
		}
		c.dropPrepared(r, reason)
	}
}

// superseded tells whether a prepared run whose slot passed in an outage is not to be brought back.
func (c *Core) superseded(r *run) bool {
	if r.Trigger != TriggerSchedule || r.Waiting || r.Attempt > 0 || r.spec == nil || !r.Slot.Before(c.now.Add(-c.config.Grace)) {
		return false
	}
	policy := r.spec.CatchUp
	if policy.Window > 0 && r.Slot.Before(c.now.Add(-time.Duration(policy.Window))) {
		return true
	}
	switch policy.Policy {
	case spec.CatchUpNone:
		return true
	case spec.CatchUpAll:
		return false
	case spec.CatchUpLast:
	}
	for _, other := range r.job.live {
		if other.Slot.After(r.Slot) && !other.Slot.After(c.now) {
			return true
		}
	}
	return false
}

// takeBack gives up a prepared run that a crashed engine may have published: its attempt is revoked first, and if an
// executor was faster the run goes on.
func (c *Core) takeBack(r *run, reason SlotReason) {
	r.back = reason
	c.revokeAttempt(r, 1)
}

// names tells whether slot is one of the schedule's.
func names(s *cron.Schedule, slot time.Time) bool {
	if s.Kind() == cron.KindAfter {
		return true
	}
	next, ok := s.Next(slot.Add(-time.Millisecond))
	return ok && next.Equal(slot)
}

// dropPrepared removes a run that nobody has been asked to execute, and says in the ledger what became of its slot.
func (c *Core) dropPrepared(r *run, reason SlotReason) {
	if !r.Slot.IsZero() {
		outcome := OutcomeSkipped
		if reason == ReasonOutage {
			outcome = OutcomeMissed
		}
		c.note(r.job, r.Slot, outcome, reason)
	}
	if r.Revision > 0 {
		c.pending.drops = append(c.pending.drops, r.ID)
	}
	r.Status = StatusInvalid
	c.release(r)
}
