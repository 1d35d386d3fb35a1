package sim

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	life "github.com/tidewheel/tidewheel/engine/attempt"
	"github.com/tidewheel/tidewheel/spec"
)

// What a job's definition promises of its runs, checked at every write of one. Each is a guard of the core of which no
// safety hangs, because the lock or the claim would hold it: without these checks its loss would go unnoticed.

// formOf returns the version of a generation, nil if there was none.
func (m *jobModel) formOf(generation int64) *form {
	for i := range m.forms {
		if m.forms[i].generation == generation {
			return &m.forms[i]
		}
	}
	return nil
}

// has reports whether a generation has one of these overlap policies.
func (m *jobModel) has(generation int64, policies ...spec.Overlap) bool {
	f := m.formOf(generation)
	return f != nil && slices.Contains(policies, f.spec.Overlap)
}

// together reports whether two runs may be under way at one time: the one that went last was of a policy that allows it.
func (m *jobModel) together(a, b *shadow) bool {
	if a.went > b.went {
		a, b = b, a
	}
	return m.has(b.as, spec.OverlapAllow) || a.went == b.went && m.has(a.as, spec.OverlapAllow)
}

// promised checks what a decision has done.
func (t *truth) promised(batch *engine.Batch) {
	for i := range batch.Runs {
		run := &batch.Runs[i]
		if t.stored[run.ID] == nil {
			continue
		}
		t.bounded(run)
		if m := t.w.users.byUID[run.JobUID]; m != nil {
			t.alone(m, run)
			t.waits(m, run)
		}
	}
	for i := range batch.Slots {
		entry := &batch.Slots[i]
		if m := t.w.users.byUID[entry.JobUID]; m != nil {
			t.gaveUp(m, entry, batch)
		} else if entry.Reason == engine.ReasonOverlap {
			t.rootGaveUp(entry)
		}
	}
}

// alone checks that no other run of the job is under way beside one that is, unless the policy of the one that went last lets them overlap.
func (t *truth) alone(m *jobModel, run *engine.Run) {
	if !underWay(run) {
		return
	}
	others, err := t.store.ActiveRunsOf(context.Background(), []string{run.JobUID})
	if err != nil {
		return
	}
	for i := range others {
		if other := &others[i]; other.ID != run.ID && underWay(other) && !m.together(t.stored[run.ID], t.stored[other.ID]) {
			t.w.fail("one run of a job is under way", "run %s is %s while run %s is %s", run.ID, run.Status, other.ID, other.Status)
		}
	}
}

func underWay(r *engine.Run) bool {
	return r.Status == engine.StatusQueued || r.Status == engine.StatusRunning || (r.Status == engine.StatusRetrying && !r.Waiting)
}

// waits checks whom a run waits for: where the policy is skip only for a backfill, and where it is replace for one that
// is being cancelled.
func (t *truth) waits(m *jobModel, run *engine.Run) {
	before, found := strings.CutPrefix(run.Reason, "waits for run ")
	f := m.formOf(run.Generation)
	if !found || !run.Waiting || f == nil || run.Trigger != engine.TriggerSchedule || run.Status != engine.StatusScheduled {
		return
	}
	t.lineUp(run)
	blocker, err := t.store.Run(context.Background(), before)
	if err != nil {
		return
	}
	switch f.spec.Overlap {
	case spec.OverlapSkip:
		if blocker.Trigger != engine.TriggerBackfill {
			t.w.fail("overlap skip does not wait", "run %s waits for run %s", run.ID, before)
		}
	case spec.OverlapReplace:
		// What waited itself goes first where the run before it ended at once, also where nothing says that it waited: it was
		// made by a backfill, or retried manually, since the last write. What was made in this batch is only shown as
		// prepared: its next write shows what happened to it since.
		if blocker.CancelBy == "" && !t.begun[before] && underWay(&blocker) && !t.stored[before].past.waited {
			t.w.fail("overlap replace ends the run before", "run %s waits for run %s, which is not cancelled", run.ID, before)
		}
	default:
	}
}

// lineUp checks that the schedule lets no more runs of a job wait than may.
func (t *truth) lineUp(run *engine.Run) {
	waiting := 0
	active, err := t.store.ActiveRunsOf(context.Background(), []string{run.JobUID})
	if err != nil {
		return
	}
	for i := range active {
		if other := &active[i]; other.Waiting && other.PendingSkip == "" && other.Trigger == engine.TriggerSchedule && other.Status == engine.StatusScheduled {
			waiting++
		}
	}
	if most := t.w.config.Core.MaxWaiting; waiting > most {
		t.w.fail("so many runs wait, and no more", "%d runs of job %s do", waiting, run.JobUID)
	}
}

// gaveUp checks that the latest slot of a range was given up as the policy says under which its run was planned; and if it was for
// another run, that of the other one.
func (t *truth) gaveUp(m *jobModel, entry *engine.SlotRange, batch *engine.Batch) {
	var policies []spec.Overlap
	run := t.dropped[engine.SlotRunID(m.uid, entry.To)]
	switch entry.Reason {
	case engine.ReasonOverlap:
		policies = []spec.Overlap{spec.OverlapSkip}
	case engine.ReasonQueueFull:
		policies = []spec.Overlap{spec.OverlapQueue, spec.OverlapSkip}
	case engine.ReasonReplaced:
		if t.replaced(m, run, batch) {
			return
		}
		policies, run = []spec.Overlap{spec.OverlapReplace}, nil
	default:
		return
	}
	var written int64 // by which generation, 0 if its run never was
	if run != nil {
		written = run.generation
	}
	forms := t.taken.forms(m, written)
	if !slices.ContainsFunc(forms, func(f *form) bool { return slices.Contains(policies, f.spec.Overlap) }) {
		t.w.fail("slots are given up as the policy says", "job %s: slot %s is skipped (%s)", m.uid, entry.To, entry.Reason)
	}
}

// replaced reports whether there is a run of a policy that replaces others: the one that is said to, or any of the job that has not
// ended, or does with this batch.
func (t *truth) replaced(m *jobModel, run *shadow, batch *engine.Batch) bool {
	if run != nil {
		if by, said := strings.CutPrefix(run.cancelBy, life.ReplacedBy("")); said {
			return m.has(t.versions[by], spec.OverlapReplace)
		}
	}
	active, err := t.store.ActiveRunsOf(context.Background(), []string{m.uid})
	if err != nil {
		return true
	}
	for _, runs := range [][]engine.Run{active, batch.Runs} {
		for i := range runs {
			if runs[i].JobUID == m.uid && m.has(runs[i].Generation, spec.OverlapReplace) {
				return true
			}
		}
	}
	return false
}

// rootGaveUp checks that a root whose slot is skipped has had one in the open wave, or has one for the next; and that the slot is none of a
// pause which are all caught up: one that may have been decided before the engine heard of the pause is none.
func (t *truth) rootGaveUp(entry *engine.SlotRange) {
	dagUID, root := engine.RunJob(entry.JobUID), engine.RootOf(entry.JobUID)
	if m := t.w.users.planner(entry.JobUID); m.formOf(entry.Generation).spec.CatchUp.Policy == spec.CatchUpAll {
		for i, r := range m.revisions {
			if r.paused && !r.handledWall.IsZero() && entry.To.After(r.decided) && m.pausedFor(i, entry.To, entry.Generation) {
				t.w.fail("all slots of a pause are caught up", "slot %s of root %s is skipped, and was in a pause", entry.To, entry.JobUID)
			}
		}
	}
	for _, id := range t.order {
		wave := t.waves[id]
		if t.opened[id] { // by the same decision: the slot came while the one before it was open
			continue
		}
		if wave.DAGUID != dagUID || wave.Epoch == 0 || wave.Status.Terminal() || wave.Trigger == engine.TriggerManual || wave.Trigger == engine.TriggerBackfill {
			continue
		}
		form := t.w.users.dagByUID[dagUID].forms[wave.Generation]
		task, known := form.graph.Index(root)
		had := !known || !form.graph.Root(task) || t.stored[engine.TaskRunID(engine.WaveID(dagUID, wave.Epoch+1), root)] != nil
		had = had || t.dropped[engine.TaskRunID(id, root)] != nil // it was there as the slot came
		for _, run := range t.runsOf[id] {
			had = had || t.stored[run] != nil && t.stored[run].task == root
		}
		if !had {
			t.w.fail("a wave gets the slots that it waits for", "slot %s of root %s is skipped, and wave %s has had none", entry.From, root, id)
		}
	}
}

// rules returns what the definition of a run says of its attempts, the same for those of jobs and of tasks; nil where it has none.
func (u *users) rules(run *engine.Run) *spec.Job {
	if run.Task == "" {
		if f := u.byUID[run.JobUID].formOf(run.Generation); f != nil {
			return &f.spec
		}
		return nil
	}
	f := u.dagByUID[run.JobUID].forms[run.Generation]
	if f == nil {
		return nil
	}
	if f.jobs[run.Task] == nil {
		if task, known := f.graph.Index(run.Task); known {
			f.jobs[run.Task] = f.spec.TaskJob(task)
		}
	}
	return f.jobs[run.Task]
}

// bounded checks that a run is not tried more often, sooner or after another end than its definition says. Tries are
// counted from the last manual retry, or resumption of the wave.
func (t *truth) bounded(run *engine.Run) {
	rules := t.w.users.rules(run)
	if rules == nil {
		return
	}
	failed, lost := 0, 0
	for i := min(t.stored[run.ID].past.base, len(run.Attempts)); i < len(run.Attempts); i++ {
		a := &run.Attempts[i]
		last := i+1 == len(run.Attempts)
		switch {
		case a.Status == engine.StatusFailed || a.Status == engine.StatusTimedOut:
			failed++
			if !last && a.ExitCode != nil && !life.RetriableExit(*a.ExitCode, rules.Retry) {
				t.w.fail("exits that say so are not tried again", "attempt %d of run %s follows exit %d", a.N+1, run.ID, *a.ExitCode)
			}
		case a.Status == engine.StatusLost && a.Error != "": // not handed back by a drain
			lost++
		}
	}
	if most := max(rules.Retry.MaxAttempts, 1); failed > most {
		t.w.fail("retries are bounded", "run %s failed %d times, and %d tries are allowed", run.ID, failed, most)
	}
	if most := t.w.config.Core.MaxLosses + 1; lost > most {
		t.w.fail("losses are bounded", "%d attempts of run %s were lost, and %d are allowed", lost, run.ID, most)
	} else if run.Status == engine.StatusDead && failed < max(rules.Retry.MaxAttempts, 1) && lost < most {
		t.w.fail("tries are used up before a run is dead", "run %s failed %d times, and %d attempts of it were lost", run.ID, failed, lost)
	}
	if wait := run.RetryAt.Sub(t.w.peak); run.Status == engine.StatusRetrying && !run.Waiting && wait > longestWait {
		t.w.fail("a retry waits no longer than its bound", "run %s waits %s", run.ID, wait)
	}
	if t.w.faults.none && lost > 0 {
		t.w.fail("without misfortune nothing is lost", "attempts of run %s were", run.ID)
	}
}

// past is what is remembered of a run beside what the store shows.
type past struct {
	base      int           // attempts before the last manual retry
	cancelled time.Duration // since when it is to be cancelled
	waited    bool          // its time had come, and another run was in the way
	came      time.Duration // when its time had come, as far as was seen: it was published, or no longer only prepared
	published time.Time     // first, by the clock of the engine that did
	byFormer  bool          // which did not own the shard any more
	// followed means that the write that let it go ended another run of its job. It had waited for that, and the store had
	// not been told: it was slow, or results were.
	followed bool
}

// goesOn checks that a run that a user has cancelled is not tried again, and remembers what the next write overwrites.
func (t *truth) goesOn(known *shadow, run *engine.Run) {
	p := &known.past
	if p.cancelled > 0 && run.CancelBy != "" && run.Attempt > known.attempt && known.attempt > p.base && !run.Status.Terminal() {
		t.w.fail("what is cancelled is not tried again", "run %s (%s) continues with attempt %d", run.ID, run.CancelBy, run.Attempt)
	}
	switch {
	case run.CancelBy == "":
		p.cancelled = 0
	case p.cancelled == 0:
		p.cancelled = t.w.elapsed
	}
	p.waited = p.waited || run.Waiting
	joined := run.Task != "" && !run.Slot.IsZero() && !run.Slot.After(t.now) // a root that waits for its turn in its wave
	if run.Waiting || joined || run.Status != engine.StatusScheduled {
		t.comes(known, run.Wave, run.Task)
	}
}

// came is when the time of a run had come. Of a root it had when the wave began with it, or with its first item: a run that says how
// a mapped one was closed comes later.
func (t *truth) came(run *engine.Run) time.Duration {
	if run.Wave != "" {
		return t.cameOf[run.Wave+"/"+run.Task]
	}
	return t.stored[run.ID].past.came
}

func (t *truth) comes(known *shadow, wave, task string) {
	if known.past.came == 0 {
		known.past.came = t.w.elapsed
	}
	if key := wave + "/" + task; wave != "" && t.cameOf[key] == 0 {
		t.cameOf[key] = t.w.elapsed
	}
}

// longestWait is more than what any retry waits in these worlds.
const longestWait = 10 * time.Second

// unaware is how long an engine may continue with what it has committed before it finds out that another has taken its shard
// over, unless it has just stood still: what it publishes until then is claimed already, and the queue knows that for much longer.
const unaware = 4 * time.Second

// wanted checks of what is to be published that its time has come by the clock of the engine that does, and that it has not
// ended: no engine reads its claim any more.
func (t *truth) wanted(task *engine.Task, e *driver) {
	known := t.stored[task.Run]
	if known == nil {
		return
	}
	rules := t.w.users.rules(&engine.Run{JobUID: task.JobUID, Task: task.Task, Generation: task.Generation})
	if rules != nil && (task.Tier != rules.Tier || task.Class != rules.Class) {
		t.w.fail("a task waits in its tier and class", "run %s goes to %s %s, and is %s %s", task.Run, task.Tier, task.Class, rules.Tier, rules.Class)
	}
	if now := e.time.shown(); known.past.came == 0 && (known.slot.After(now) || known.notBefore.After(now)) {
		t.w.fail("nothing goes before its time", "run %s is published at %s, for slot %s, not before %s", task.Run, now, known.slot, known.notBefore)
	}
	t.comes(known, known.wave, known.task)
	owner := t.owners[task.Shard].group == e.group
	if known.past.published.IsZero() {
		known.past.published, known.past.byFormer = e.time.wall(), !owner
	}
	if known.status == engine.StatusScheduled || known.went == 0 && !known.status.Terminal() { // the queue may not have taken it before
		t.turns++
		known.went, known.as = t.turns, task.Generation
	}
	if known.status.Terminal() && (owner || t.w.elapsed > known.ended+unaware && !t.w.owners.mayBelieve(e)) {
		t.w.fail("nothing is published of what has ended", "attempt %d of run %s is, and the run is %s", task.Attempt, task.Run, known.status)
	}
}
