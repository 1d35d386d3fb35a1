package sim

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/memory"
)

var (
	errInjected = errors.New("injected fault")
	errKilled   = errors.New("the caller was killed")
)

// truth is the store. Whatever changes it passes through here and is checked.
type truth struct {
	w         *world
	store     *memory.Store
	awayUntil time.Duration
	endedAt   time.Duration      // when a run or a wave ended last
	stored    map[string]*shadow // every run there is, by id; only looked up
	begun     map[string]bool    // run ids that the present batch lets go
	retried   map[string]bool    // run ids for which an operator asked for a retry
	waves     map[string]*waveShadow
	order     []string            // of waves, as they were first written
	runsOf    map[string][]string // of waves: ids of runs that were ever written, in that order
}

// shadow is what is known of a stored run.
type shadow struct {
	status   engine.Status
	revision int64
	attempt  int
	trigger  engine.Trigger
	slot     time.Time
	past     past
	// Of a task's run.
	wave, task string
	item       int // -1 of a task that is not mapped
	upstream   bool
}

func newTruth(w *world) *truth {
	return &truth{
		w: w, store: memory.New(), stored: map[string]*shadow{}, retried: map[string]bool{},
		waves: map[string]*waveShadow{}, runsOf: map[string][]string{},
	}
}

func (t *truth) away() bool { return t.w.elapsed < t.awayUntil }

// commit writes a batch, and checks what it does.
func (t *truth) commit(batch *engine.Batch) ([]engine.Conflict, error) {
	conflicts, err := t.store.Commit(context.Background(), batch)
	if err != nil {
		return nil, err
	}
	t.once(batch)
	for _, conflict := range conflicts {
		t.w.counts.add("conflict", conflict.Kind)
	}
	batch = batch.Done(conflicts)
	ended := t.ends(batch)
	t.begun = t.begins(batch)
	for i := range batch.Runs {
		run := &batch.Runs[i].Run
		prepared := t.prepared(run.ID)
		t.wrote(run)
		if goes := run.Status != engine.StatusScheduled || !run.Slot.After(t.w.wall()); prepared && goes && ended[run.JobUID] {
			t.stored[run.ID].past.followed = true
		}
	}
	for i := range batch.Waves {
		t.wroteWave(&batch.Waves[i].Wave)
	}
	for i := range batch.Slots {
		t.w.counts.add("slots", string(batch.Slots[i].Outcome)+" "+string(batch.Slots[i].Reason))
		t.w.note("ledger", batch.Slots[i].ID, string(batch.Slots[i].Reason)+" until "+batch.Slots[i].To.Format("15:04:05.000"), batch.Slots[i].Count)
	}
	for _, drop := range batch.DropRuns {
		id := drop.ID
		if left, err := t.store.RunsByID(context.Background(), []string{id}); t.stored[id] != nil && err == nil && len(left) == 0 {
			delete(t.stored, id)
			t.w.note("run dropped", id, "", 0)
			t.w.journal.dropped(id)
		}
	}
	for i := range batch.Tasks {
		task := &batch.Tasks[i].Task
		if m := t.w.users.planner(task.ID); m != nil {
			m.stands(t.w, task)
		}
		t.w.note("next slot", task.ID, task.Slot.Format("15:04:05.000")+" "+task.Job, task.Revision)
	}
	for _, handled := range batch.Handled {
		t.w.users.handled(handled)
	}
	for _, handled := range batch.HandledDAGs {
		t.w.users.handledDAG(handled)
	}
	for _, id := range batch.Commands {
		t.w.note("command done", id, "", 0)
	}
	t.promised(batch)
	return conflicts, nil
}

// ends names the jobs of which a batch ends a run, or an attempt, that was under way. What it lets go had to wait for that,
// even if no write ever said so.
func (t *truth) ends(batch *engine.Batch) map[string]bool {
	ended := map[string]bool{}
	for i := range batch.Runs {
		run := &batch.Runs[i].Run
		known := t.stored[run.ID]
		if known == nil || known.revision == run.Revision {
			continue
		}
		was := known.status == engine.StatusQueued || known.status == engine.StatusRunning
		if was && (run.Status.Terminal() || run.Status == engine.StatusRetrying) {
			ended[run.JobUID] = true
		}
	}
	return ended
}

// begins names the runs that a batch lets go which were not under way.
func (t *truth) begins(batch *engine.Batch) map[string]bool {
	begun := map[string]bool{}
	for i := range batch.Runs {
		run := &batch.Runs[i].Run
		if known := t.stored[run.ID]; run.Status == engine.StatusQueued && (known == nil || known.status.Terminal() || known.status == engine.StatusScheduled) {
			begun[run.ID] = true
		}
	}
	return begun
}

// prepared reports whether a run waits for its slot, as far as the store knows.
func (t *truth) prepared(id string) bool {
	known := t.stored[id]
	return known == nil || known.status == engine.StatusScheduled
}

// once checks that no two writes of a batch concern one id, as engine.Batch says.
func (t *truth) once(batch *engine.Batch) {
	seen := map[string]bool{}
	for i := range batch.Runs {
		if id := batch.Runs[i].Run.ID; seen[id] {
			t.w.fail("a batch writes a thing once", "run %s is in it twice", id)
		} else {
			seen[id] = true
		}
	}
}

// wrote checks what became of a run: its status moves as a run's may, and its attempts only grow.
func (t *truth) wrote(run *engine.Run) {
	known := t.stored[run.ID]
	first := known == nil
	if first {
		known = &shadow{status: engine.StatusInvalid}
		t.stored[run.ID] = known
		t.w.counts.add("trigger", string(run.Trigger))
	}
	if known.revision == run.Revision {
		return // the same write once more
	}
	t.w.note("run", run.ID, run.Status.String()+" r"+strconv.FormatInt(run.Revision, 10)+" "+run.Reason, int64(run.Attempt))
	if known.status != run.Status && run.Status.Terminal() {
		t.endedAt = t.w.elapsed
	}
	if known.status != run.Status {
		t.w.counts.add("transition", known.status.String()+" → "+run.Status.String())
	}
	from := known.status
	wave := t.waves[run.Wave]
	switch {
	case from == run.Status || !from.Terminal():
	case wave != nil && wave.reopened && from != engine.StatusSucceeded:
		from = engine.StatusScheduled
		if run.Status == engine.StatusScheduled || run.Status.Terminal() { // marked, or run again
			from = run.Status
		}
	default:
		if !from.CanRetry() || !t.retried[run.ID] || run.Task != "" {
			t.w.fail("terminal stays terminal", "run %s went from %s to %s, and nobody asked for it", run.ID, from, run.Status)
		}
		delete(t.retried, run.ID)
		known.past.base = known.attempt
		from = engine.StatusRetrying
	}
	if from != run.Status && !reaches(from, run.Status) || (run.Status == engine.StatusQueued && from == engine.StatusRunning && run.Attempt <= known.attempt) {
		t.w.fail("a status moves as it may", "run %s went from %s to %s", run.ID, known.status, run.Status)
	}
	if run.Attempt < known.attempt {
		t.w.fail("attempts grow", "run %s went from attempt %d to %d", run.ID, known.attempt, run.Attempt)
	}
	if run.Task != "" {
		t.wroteTask(run, first)
	} else if !run.Slot.IsZero() && run.ID != engine.SlotRunID(run.JobUID, run.Slot) {
		t.w.fail("one run a slot", "run %s is for slot %s", run.ID, run.Slot)
	}
	if run.Status != known.status && run.Task == "" && (run.Status.CanRetry() || run.Status == engine.StatusRetrying) {
		t.w.users.ended = append(t.w.users.ended, run.ID)
	}
	t.goesOn(known, run)
	*known = shadow{
		past: known.past, status: run.Status, revision: run.Revision, attempt: run.Attempt, trigger: run.Trigger, slot: run.Slot,
		wave: run.Wave, task: run.Task, item: -1, upstream: run.Upstream,
	}
	if run.Item != nil {
		known.item = *run.Item
	}
}

// late notes of whom a dead engine's last batch, or that of a former owner, tells although its successor is at work. Of a
// job's slots it tells nothing that is not so; what it may leave of others is said where late is asked for.
func (t *truth) late(batch *engine.Batch) {
	for i := range batch.Slots {
		if m := t.w.users.planner(batch.Slots[i].JobUID); m != nil {
			m.late = true
		}
	}
	for i := range batch.Waves {
		t.w.users.dagByUID[batch.Waves[i].Wave.DAGUID].late = true
	}
	for i := range batch.Runs {
		if wave := t.waves[batch.Runs[i].Run.Wave]; wave != nil {
			wave.shared = true
		}
		if m := t.w.users.planner(batch.Runs[i].Run.JobUID); m != nil {
			m.late = true
		}
		if m := t.w.users.planner(engine.RootID(batch.Runs[i].Run.JobUID, batch.Runs[i].Run.Task)); m != nil {
			m.late = true
		}
	}
}

// reaches reports whether a run may go from one status to another in one write, which may hold several steps.
func reaches(from, to engine.Status) bool {
	if canBecome(from, to) {
		return true
	}
	if from.Terminal() || to == engine.StatusScheduled || to == engine.StatusInvalid {
		return false
	}
	if from == engine.StatusRetrying {
		return reaches(engine.StatusQueued, to)
	}
	for _, between := range []engine.Status{engine.StatusScheduled, engine.StatusQueued, engine.StatusRunning, engine.StatusRetrying} {
		if between > from && canBecome(from, between) && reaches(between, to) {
			return true
		}
	}
	return false
}

// inserted notes a run that a user made.
func (t *truth) inserted(run *engine.Run) {
	t.stored[run.ID] = &shadow{status: run.Status, revision: run.Revision, trigger: run.Trigger}
	t.w.counts.add("trigger", string(run.Trigger))
	t.w.note("run", run.ID, run.Status.String(), 0)
}

// cut splits a batch after its first n single writes.
func cut(batch *engine.Batch, n int) *engine.Batch {
	return &engine.Batch{
		Waves: first(batch.Waves, &n),
		Runs:  first(batch.Runs, &n), DeadLetters: first(batch.DeadLetters, &n), Slots: first(batch.Slots, &n),
		DropLetters: first(batch.DropLetters, &n), DropRuns: first(batch.DropRuns, &n), Tasks: first(batch.Tasks, &n),
		Handled: first(batch.Handled, &n), HandledDAGs: first(batch.HandledDAGs, &n), Commands: first(batch.Commands, &n),
	}
}

func first[T any](list []T, n *int) []T {
	most := min(*n, len(list))
	*n -= most
	return list[:most:most]
}

func writes(batch *engine.Batch) int {
	return len(batch.Waves) + len(batch.HandledDAGs) + len(batch.Runs) + len(batch.Slots) + len(batch.DeadLetters) + len(batch.DropLetters) + len(batch.DropRuns) +
		len(batch.Tasks) + len(batch.Handled) + len(batch.Commands)
}

// reader is the store as one process sees it: each call takes time, in which others write, and may fail.
type reader struct {
	t *truth
	p *process
}

func read[T any](r reader, call func(ctx context.Context) (T, error)) (T, error) {
	var none T
	if err := r.t.wait(r.p); err != nil {
		return none, err
	}
	return call(context.Background())
}

// wait is the time that a call takes, and whether it fails.
func (t *truth) wait(p *process) error {
	latency := t.w.between(50*time.Microsecond, 3*time.Millisecond)
	if t.w.chance(storeSlow) {
		latency = t.w.between(100*time.Millisecond, 3*time.Second)
	}
	if !p.sleep(latency) {
		return errKilled
	}
	if t.away() || t.w.chance(storeRefused) {
		return errInjected
	}
	return nil
}

func (r reader) DueTasks(_ context.Context, shards []int, after, until time.Time) ([]engine.ScheduledTask, error) {
	return read(r, func(ctx context.Context) ([]engine.ScheduledTask, error) {
		return r.t.store.DueTasks(ctx, shards, after, until)
	})
}

func (r reader) TasksByID(_ context.Context, uids []string) ([]engine.ScheduledTask, error) {
	return read(r, func(ctx context.Context) ([]engine.ScheduledTask, error) { return r.t.store.TasksByID(ctx, uids) })
}

func (r reader) JobsByUID(_ context.Context, uids []string) ([]engine.Job, error) {
	return read(r, func(ctx context.Context) ([]engine.Job, error) { return r.t.store.JobsByUID(ctx, uids) })
}

func (r reader) PendingJobs(_ context.Context, shards []int, limit int) ([]engine.Job, error) {
	return read(r, func(ctx context.Context) ([]engine.Job, error) { return r.t.store.PendingJobs(ctx, shards, limit) })
}

func (r reader) Generation(_ context.Context, uid string, generation int64) (engine.Generation, error) {
	return read(r, func(ctx context.Context) (engine.Generation, error) {
		return r.t.store.Generation(ctx, uid, generation)
	})
}

func (r reader) ActiveRuns(_ context.Context, shards []int, after string, limit int) ([]engine.Run, error) {
	return read(r, func(ctx context.Context) ([]engine.Run, error) {
		return r.t.store.ActiveRuns(ctx, shards, after, limit)
	})
}

func (r reader) ActiveRunsOf(_ context.Context, uids []string) ([]engine.Run, error) {
	return read(r, func(ctx context.Context) ([]engine.Run, error) { return r.t.store.ActiveRunsOf(ctx, uids) })
}

func (r reader) RunsByID(_ context.Context, ids []string) ([]engine.Run, error) {
	return read(r, func(ctx context.Context) ([]engine.Run, error) { return r.t.store.RunsByID(ctx, ids) })
}

func (r reader) Commands(_ context.Context, shards []int, limit int) ([]engine.Command, error) {
	return read(r, func(ctx context.Context) ([]engine.Command, error) { return r.t.store.Commands(ctx, shards, limit) })
}

func (r reader) Slots(_ context.Context, filter engine.SlotFilter) ([]engine.SlotRange, string, error) {
	next := ""
	slots, err := read(r, func(ctx context.Context) (slots []engine.SlotRange, err error) {
		slots, next, err = r.t.store.Slots(ctx, filter)
		return slots, err
	})
	return slots, next, err
}

func (r reader) DAGsByUID(_ context.Context, uids []string) ([]engine.DAG, error) {
	return read(r, func(ctx context.Context) ([]engine.DAG, error) { return r.t.store.DAGsByUID(ctx, uids) })
}

func (r reader) PendingDAGs(_ context.Context, shards []int, limit int) ([]engine.DAG, error) {
	return read(r, func(ctx context.Context) ([]engine.DAG, error) { return r.t.store.PendingDAGs(ctx, shards, limit) })
}

func (r reader) DAGGeneration(_ context.Context, uid string, generation int64) (engine.DAGGeneration, error) {
	return read(r, func(ctx context.Context) (engine.DAGGeneration, error) {
		return r.t.store.DAGGeneration(ctx, uid, generation)
	})
}

func (r reader) OpenWaves(_ context.Context, shards []int, after string, limit int) ([]engine.Wave, error) {
	return read(r, func(ctx context.Context) ([]engine.Wave, error) {
		return r.t.store.OpenWaves(ctx, shards, after, limit)
	})
}

func (r reader) OpenWavesOf(_ context.Context, dagUIDs []string) ([]engine.Wave, error) {
	return read(r, func(ctx context.Context) ([]engine.Wave, error) { return r.t.store.OpenWavesOf(ctx, dagUIDs) })
}

func (r reader) LastEpochs(_ context.Context, dagUIDs []string) (map[string]int64, error) {
	return read(r, func(ctx context.Context) (map[string]int64, error) { return r.t.store.LastEpochs(ctx, dagUIDs) })
}

func (r reader) WavesByID(_ context.Context, ids []string) ([]engine.Wave, error) {
	return read(r, func(ctx context.Context) ([]engine.Wave, error) { return r.t.store.WavesByID(ctx, ids) })
}

func (r reader) RunsOfWave(_ context.Context, wave, after string, limit int) ([]engine.Run, error) {
	return read(r, func(ctx context.Context) ([]engine.Run, error) { return r.t.store.RunsOfWave(ctx, wave, after, limit) })
}

func (r reader) BinariesByKey(_ context.Context, keys []string) ([]engine.Binary, error) {
	return read(r, func(ctx context.Context) ([]engine.Binary, error) { return r.t.store.BinariesByKey(ctx, keys) })
}

// Commit is not for readers: the driver commits, so that a commit outlives its engine.
func (r reader) Commit(context.Context, *engine.Batch) ([]engine.Conflict, error) {
	return nil, errInjected
}
