package sim

import (
	"context"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// planned checks that every living schedule has a slot to come. It is asked while the world is calm.
func (w *world) planned() {
	for _, m := range w.users.planners() {
		if len(m.forms) == 0 || m.job.Deleted || m.job.Paused || m.forms[len(m.forms)-1].schedule.Kind() == cron.KindManual {
			continue
		}
		tasks, _ := w.truth.store.TasksByID(context.Background(), []string{m.uid})
		if len(tasks) != 1 {
			w.fail("a schedule has its next slot", "job %s has no scheduled task", m.uid)
			return
		}
		task := &tasks[0]
		if m.forms[len(m.forms)-1].schedule.Kind() == cron.KindAfter {
			continue // stays at its slot while the run is under way
		}
		if len(task.Waiting) > 0 && !w.busy(m.of) {
			w.fail("a slot that waits has something to wait for", "root %s: %v wait, and nothing of its DAG is under way", m.uid, task.Waiting)
			return
		}
		if task.Slot.Before(w.wall().Add(-2*time.Second)) || !task.RunAt.Equal(task.Slot) {
			w.fail("a schedule has its next slot", "job %s: the next slot is %s, looked at %s, and it is %s", m.uid, task.Slot, task.RunAt, w.wall())
		}
	}
}

// busy reports whether a wave of a DAG is open, or a run of it has not ended.
func (w *world) busy(m *dagModel) bool {
	runs, err := w.truth.store.ActiveRunsOf(context.Background(), []string{m.uid})
	if len(runs) > 0 || err != nil {
		return true
	}
	waves, err := w.truth.store.OpenWavesOf(context.Background(), []string{m.uid})
	return len(waves) > 0 || err != nil
}

// rested reports whether nothing is active any more, except what waits for waves that stay open: these are returned.
func (w *world) rested() (staying []engine.Wave, rested bool) {
	background := context.Background()
	stays := map[string]bool{}
	waves, _ := w.truth.store.OpenWaves(background, allShards, "", 1000)
	for i := range waves {
		if w.stays(&waves[i]) {
			staying = append(staying, waves[i])
			stays[waves[i].DAGUID] = true
		}
	}
	for i := range waves {
		if waves[i].Status != engine.StatusScheduled && !w.stays(&waves[i]) || !stays[waves[i].DAGUID] {
			return nil, false
		}
	}
	active, _ := w.truth.store.ActiveRuns(background, allShards, "", 1000)
	for i := range active {
		if !stays[active[i].JobUID] || active[i].Status != engine.StatusScheduled {
			return nil, false
		}
	}
	commands, _ := w.truth.store.Commands(background, allShards, 1000)
	for i := range commands {
		switch commands[i].Kind {
		case engine.CommandResumeWave, engine.CommandMarkTask, engine.CommandClearTask:
			if stays[commands[i].JobUID] {
				continue
			}
		default:
		}
		return nil, false
	}
	pending, _ := w.truth.store.PendingJobs(background, allShards, 1)
	dags, _ := w.truth.store.PendingDAGs(background, allShards, 1)
	tasks, locks := w.queue.leftovers()
	return staying, len(pending) == 0 && len(dags) == 0 && tasks == 0 && len(locks) == 0
}

// stays reports whether a wave stays open until its DAG is resumed, or it is cancelled: the DAG is paused, a root of the wave waits for
// its slot, and there is nothing else to do before that.
func (w *world) stays(wave *engine.Wave) bool {
	m, known := w.users.dagByUID[wave.DAGUID], w.truth.waves[wave.ID]
	byHand := wave.Trigger == engine.TriggerManual || wave.Trigger == engine.TriggerBackfill
	if known == nil || wave.Status != engine.StatusRunning || wave.CancelBy != "" || wave.Resumed > 0 || byHand {
		return false
	}
	form, waits := m.forms[wave.Generation], false
	if !m.dag.Paused || m.dag.Deleted {
		return false
	}
	for task := range form.graph.Len() {
		name := form.graph.Name(task)
		state, _ := w.truth.outcome(wave.ID, name)
		switch {
		case state != 0:
			if !state.Ended() {
				return false
			}
		case !form.graph.Root(task):
			if w.truth.tally(wave.ID, form, task).rule(form.spec.Tasks[task].Trigger) != dag.Waiting {
				return false
			}
		default:
			root := m.root(name)
			manual := root.forms[len(root.forms)-1].schedule.Kind() == cron.KindManual
			if manual || root.task.ID == "" || root.task.Undecided().Equal(engine.Parked) {
				return false
			}
			waits = true
		}
	}
	return waits
}

// leftovers reports what has not come to its end.
func (w *world) leftovers() {
	background := context.Background()
	active, _ := w.truth.store.ActiveRuns(background, allShards, "", 1)
	for i := range active {
		w.fail("every run ends", "run %s is still %s (waiting %v, attempt %d): %s", active[i].ID, active[i].Status, active[i].Waiting, active[i].Attempt, active[i].Reason)
	}
	pending, _ := w.truth.store.PendingJobs(background, allShards, 1)
	for i := range pending {
		w.fail("every change is acted upon", "job %s is still pending", pending[i].UID)
	}
	dags, _ := w.truth.store.PendingDAGs(background, allShards, 1)
	for i := range dags {
		w.fail("every change is acted upon", "DAG %s is still pending", dags[i].UID)
	}
	waves, _ := w.truth.store.OpenWaves(background, allShards, "", 1)
	for i := range waves {
		w.fail("every wave ends", "wave %s is still %s: %s", waves[i].ID, waves[i].Status, waves[i].Reason)
	}
	commands, _ := w.truth.store.Commands(background, allShards, 1)
	for i := range commands {
		w.fail("every command is acted upon", "command %s is left", commands[i].ID)
	}
	tasks, locks := w.queue.leftovers()
	if tasks > 0 {
		w.fail("the queue empties", "%d tasks are left", tasks)
	}
	for _, key := range locks {
		w.fail("locks go", "lock %s is left", key)
	}
}

// account checks that every slot of every schedule is accounted for exactly once.
func (w *world) account() {
	background := context.Background()
	for _, m := range w.users.dags {
		w.number(m)
	}
	for _, m := range w.users.planners() {
		filter := engine.RunFilter{JobUID: m.uid, Limit: 1 << 20}
		if m.of != nil {
			filter.JobUID, filter.Task = m.of.uid, engine.RootOf(m.uid)
		}
		runs, _, err := w.truth.store.Runs(background, filter)
		if err != nil {
			w.fail("the store answers", "%s", err)
			return
		}
		ranges, _, err := w.truth.store.Slots(background, engine.SlotFilter{JobUID: m.uid, Limit: 1 << 20})
		if err != nil {
			w.fail("the store answers", "%s", err)
			return
		}
		book := w.book(m, runs, ranges)
		w.kept(m, runs)
		if w.failure == nil && !m.job.Deleted {
			w.complete(m, book)
		}
		if w.failure != nil {
			return
		}
	}
	w.letters()
	for _, s := range w.journal.starts {
		if w.truth.stored[s.run] == nil {
			w.fail("every process has its run", "attempt %d of run %s started, and the run is not in the store", s.attempt, s.run)
		}
	}
}

// book is what happened to slots: by milliseconds, only looked up.
type book map[int64]entry

type entry struct {
	run    string
	ledger string
}

func (w *world) book(m *jobModel, runs []engine.Run, ranges []engine.SlotRange) book {
	b := book{}
	tasks, _ := w.truth.store.TasksByID(context.Background(), []string{m.uid}) // none of what is deleted
	for i := range tasks {
		for _, slot := range tasks[i].Waiting {
			b[slot.UnixMilli()] = entry{ledger: "waiting for its turn"}
		}
	}
	for i := range ranges {
		slots, ok := expand(m, &ranges[i])
		if !ok {
			w.fail("the ledger names slots", "job %s: %d slots from %s to %s (%s) belong to no schedule that it ever had",
				m.uid, ranges[i].Count, ranges[i].From, ranges[i].To, ranges[i].Reason)
			return b
		}
		for _, slot := range slots {
			known := b[slot.UnixMilli()]
			if known.ledger != "" {
				w.fail("a slot ends once", "job %s: slot %s is in the ledger as %s and as %s", m.uid, slot, known.ledger, ranges[i].Reason)
			}
			known.ledger = string(ranges[i].Reason)
			b[slot.UnixMilli()] = known
		}
	}
	for i := range runs {
		run := &runs[i]
		if run.Slot.IsZero() {
			continue
		}
		known := b[run.Slot.UnixMilli()]
		switch {
		case run.Trigger == engine.TriggerUpstream, m.of != nil && run.Trigger == engine.TriggerManual:
			continue // of the wave, not of the schedule
		case run.Trigger == engine.TriggerBackfill && m.of != nil:
			known.run = run.ID // which names any slots
			b[run.Slot.UnixMilli()] = known
			continue
		case run.Trigger == engine.TriggerBackfill:
		case known.ledger != "":
			w.fail("a slot ends once", "job %s: slot %s is in the ledger as %s, and run %s (%s, %s) exists", m.uid, run.Slot, known.ledger, run.ID, run.Trigger, run.Status)
		}
		known.run = run.ID
		b[run.Slot.UnixMilli()] = known
		w.policies(m, run)
	}
	return b
}

// policies checks that a run is one that its definition allows.
func (w *world) policies(m *jobModel, run *engine.Run) {
	named, known, fixed := false, false, true
	var handled time.Duration
	for i := range m.forms {
		f := &m.forms[i]
		if f.schedule.Kind() == cron.KindAfter || names(f.schedule, run.Slot) {
			named = true
		}
		if f.generation != run.Generation {
			continue
		}
		handled = f.handled
		known, fixed = true, f.schedule.Kind() != cron.KindAfter
		if run.Trigger != engine.TriggerCatchUp || m.of != nil { // a root is caught up by one version, and goes in a wave of another
			continue
		}
		if f.spec.CatchUp.Policy == spec.CatchUpNone {
			w.fail("catch-up keeps to its policy", "run %s was caught up, and the policy is none", run.ID)
		}
		if late := run.CreatedAt.Sub(run.Slot); late > time.Duration(f.spec.CatchUp.Window)+time.Millisecond {
			w.fail("catch-up keeps to its window", "run %s was caught up %s late, and the window is %s", run.ID, late, f.spec.CatchUp.Window)
		}
	}
	if !named {
		w.fail("runs are for slots", "run %s (%s) is for a slot that no schedule of its job names", run.ID, run.Trigger)
	}
	if !known {
		w.fail("runs are of a generation", "run %s is of generation %d, which never was", run.ID, run.Generation)
	}
	if run.Trigger == engine.TriggerSchedule && fixed && m.stoodStill(run, handled, w.truth.came(run)) {
		w.fail("a paused job stands still", "run %s fired at %s, while its job was paused", run.ID, run.Slot)
	}
}

// stoodStill reports whether the job was paused at the slot of a run, and the engine had known it for a second. A version that the
// engine only saw after the pause, or never acted upon as long as it was the latest, was never paused for it.
func (m *jobModel) stoodStill(run *engine.Run, handled, came time.Duration) bool {
	if handled == 0 {
		return false
	}
	generation := run.Generation
	for _, f := range m.forms { // a root's slot may be of a later version than the wave that it came in
		if f.handled > 0 && f.handled < came && names(f.schedule, run.Slot) {
			generation = max(generation, f.generation)
		}
	}
	for i, r := range m.revisions {
		known := r.paused && !r.handledWall.IsZero() && came > r.handled
		if known && run.Slot.After(r.handledWall) && m.pausedFor(i, run.Slot, generation) {
			return true
		}
	}
	return false
}

// pausedFor reports whether the pause that a revision is in lasts at a slot, unless the slot's version was written later, or an edit
// that the revision has came after the slot: by its user's clock, which may be ahead, all slots before the edit are of the version before.
func (m *jobModel) pausedFor(n int, slot time.Time, generation int64) bool {
	if m.revisions[n].generation > generation && !slot.After(m.formOf(m.revisions[n].generation).since) {
		return false
	}
	n = m.pauseEnds(n)
	return n == len(m.revisions) || m.revisions[n].generation >= generation && slot.Before(m.resumed(n))
}

// resumed is when a revision ended a pause: as its user's clock said, or as the engine saw it, if that is behind. Where the engine saw
// only a later one, after a clock went back, it is when the later one ended the pause after it.
func (m *jobModel) resumed(n int) time.Time {
	at := m.revisions[n].stamp
	for ; n < len(m.revisions); n++ {
		r := m.revisions[n]
		if !r.paused && r.stamp.Before(at) {
			at = r.stamp
		}
		if !r.known.IsZero() {
			if r.known.Before(at) {
				at = r.known
			}
			break
		}
	}
	return at
}

func names(s *cron.Schedule, slot time.Time) bool {
	next, ok := s.Next(slot.Add(-time.Millisecond))
	return ok && next.Equal(slot)
}

// expand lists the slots of a range of the ledger, which the schedule of its generation names. One slot of a root may be that of a wave of
// another generation.
func expand(m *jobModel, r *engine.SlotRange) ([]time.Time, bool) {
	if m.of != nil && r.Count == 1 {
		return []time.Time{r.From}, slices.ContainsFunc(m.forms, func(f form) bool { _, ok := f.slots(r); return ok })
	}
	f := m.formOf(r.Generation)
	if f == nil {
		return nil, false
	}
	return f.slots(r)
}

// slots lists the slots of a range, if it is one of this version.
func (f *form) slots(r *engine.SlotRange) ([]time.Time, bool) {
	s := f.schedule
	if s.Kind() == cron.KindAfter {
		if r.Count == 1 {
			return []time.Time{r.From}, true
		}
	} else if !names(s, r.From) {
		return nil, false
	}
	slots := []time.Time{r.From}
	for int64(len(slots)) < r.Count {
		next, ok := s.Next(slots[len(slots)-1])
		if !ok || next.After(r.To) {
			break
		}
		slots = append(slots, next)
	}
	return slots, int64(len(slots)) == r.Count && slots[len(slots)-1].Equal(r.To)
}

// complete checks that nothing is missing: each slot of each version, from when it was written until the next was, is a
// run or in the ledger. Forms that were replaced before the engine saw them owe nothing, and what a pause has stopped
// for good is not accounted for before a user resumes the job.
func (w *world) complete(m *jobModel, b book) {
	for i := range m.forms {
		f := &m.forms[i]
		if f.handled == 0 || (f.replaced > 0 && f.handled > f.replaced) {
			continue
		}
		if kind := f.schedule.Kind(); kind == cron.KindManual || kind == cron.KindAfter {
			continue
		}
		until := w.wall()
		if i+1 < len(m.forms) {
			until = m.forms[i+1].since
		}
		for next := i + 1; next < len(m.forms); next++ { // the edit that the engine saw may be of an earlier time of the clock
			if m.forms[next].since.Before(until) {
				until = m.forms[next].since
			}
			if m.forms[next].handled > 0 {
				break
			}
		}
		if m.job.Paused && m.stopped().Before(until) {
			until = m.stopped()
		}
		if f.pausedAt > 0 && m.inPause(f.pausedAt) || m.pausedBefore(f) {
			until = f.since
		}
		if f.had.After(until) && f.had.After(f.debt.task.Accounted) { // the clock went back before the next version was written
			until = f.had.Add(1)
		}
		for slot := range f.schedule.Between(f.since, until) {
			if found := b[slot.UnixMilli()]; found == (entry{}) && f.owes(slot) {
				w.fail("no slot is lost", "job %s: slot %s of generation %d is neither a run nor in the ledger", m.uid, slot, f.generation)
				return
			}
		}
	}
}

// pausedBefore reports whether the job is in a pause that the engine knew before a version was written, by whatever clock.
func (m *jobModel) pausedBefore(f *form) bool {
	for i := range m.revisions {
		if r := &m.revisions[i]; r.generation < f.generation && r.paused && !r.handledWall.IsZero() && m.inPause(i) {
			return true
		}
	}
	return false
}

// stopped is the stamp of the pause that the job is in.
func (m *jobModel) stopped() time.Time {
	stamp := m.job.PausedAt
	for i := range m.revisions {
		if !m.inPause(i) {
			continue
		}
		r := &m.revisions[i]
		if r.paused && r.stamp.Before(stamp) {
			stamp = r.stamp
		}
		if r.paused && !r.known.IsZero() && r.known.Before(stamp) { // the clock went back in between, or the engine's is behind
			stamp = r.known
		}
	}
	if !m.parked.IsZero() && m.parked.Before(stamp) { // of a pause that the clock of now has yet to come to
		stamp = m.parked.Add(-5 * time.Second)
	}
	return stamp
}
