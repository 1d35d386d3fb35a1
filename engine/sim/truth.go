package sim

import (
	"context"
	"errors"
	"slices"
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
	endedAt   time.Duration         // when a run or a wave ended last
	stored    map[string]*shadow    // every run there is, by id; only looked up
	taken     *takenUp              // what the engine knew whose decision is being written
	now       time.Time             // by its clock
	begun     map[string]bool       // run ids that the present decision lets go
	opened    map[string]bool       // waves that it opens
	dropped   map[string]*shadow    // runs that it drops
	granted   map[string][]*request // by run and wave: the requests to resume that it acts on
	marking   []*request            // marks that it acts on
	asked     map[string]*request   // by command, what users have asked for and no engine has acted upon; only looked up
	turns     uint64                // how often runs went
	versions  map[string]int64      // by run, of which generation it was last; only looked up
	waves     map[string]*waveShadow
	order     []string                 // of waves, as they were first written
	cameOf    map[string]time.Duration // by wave and task: when the time of a root had come; only looked up
	runsOf    map[string][]string      // of waves: ids of runs that were ever written, in that order
	positions [engine.Shards]uint64    // of the latest commit
	owners    [engine.Shards]ownership
}

// shadow is what is known of a stored run.
type shadow struct {
	status     engine.Status
	revision   int64
	attempt    int
	ended      time.Duration // when it did
	trigger    engine.Trigger
	slot       time.Time
	generation int64
	went       uint64 // the turn in which it was published, or under way, first; 0 if it has not been since it ended, or waited
	as         int64  // the generation that it went as: an owner from before publishes what it had prepared
	cancelBy   string
	// The run does not go before this, nor before its slot.
	notBefore time.Time
	past      past
	// Of a task's run.
	wave, task string
	item       int // -1 of a task that is not mapped
	upstream   bool
}

func newTruth(w *world) *truth {
	return &truth{
		w: w, store: memory.New(), stored: map[string]*shadow{}, asked: map[string]*request{}, versions: map[string]int64{},
		waves: map[string]*waveShadow{}, cameOf: map[string]time.Duration{}, runsOf: map[string][]string{},
	}
}

func (t *truth) away() bool { return t.w.elapsed < t.awayUntil }

// take makes an engine the owner of shards, one after the other.
func (t *truth) take(p *process, shards []int, owner string) ([]engine.Term, error) {
	terms := make([]engine.Term, len(shards))
	for i, shard := range shards {
		if i%8 == 0 { // they are taken some at a time
			if err := t.wait(p); err != nil {
				return nil, err
			}
		}
		term, err := t.store.Take(context.Background(), shard, owner)
		if err != nil {
			return nil, err
		}
		terms[i] = term
		t.owners[shard] = ownership{term: term.Number, group: p.group}
	}
	return terms, nil
}

// commit writes a decision, and checks what it does.
func (t *truth) commit(commit *engine.ShardCommit, e *driver, taken *takenUp) error {
	if err := t.store.Commit(context.Background(), []engine.ShardCommit{*commit})[0]; err != nil {
		if !errors.Is(err, engine.ErrFenced) {
			t.w.fail("the store answers", "%s", err)
		}
		return err
	}
	if t.positions[commit.Shard] == commit.Position {
		return nil // the same once more
	}
	if latest := t.owners[commit.Shard]; commit.Term != latest.term {
		t.w.fail("an owner that was fenced writes nothing", "%s has written under term %d, after term %d", taken.by.name, commit.Term, latest.term)
	}
	t.positions[commit.Shard], t.taken, t.now = commit.Position, taken, e.time.wall()
	decision := commit.Batch
	t.turns++ // a batch is in no order
	signs := t.w.notifier.signs(decision, e)
	t.once(decision)
	t.grants(decision)
	ended := t.ends(decision)
	t.begun, t.opened, t.dropped = t.begins(decision), map[string]bool{}, map[string]*shadow{}
	for _, id := range decision.DropRuns {
		if known := t.stored[id]; known != nil {
			t.dropped[id] = known
			delete(t.stored, id)
			t.w.note("run dropped", id, "", 0)
			t.w.journal.dropped(id)
		}
	}
	for i := range decision.Runs {
		run := &decision.Runs[i]
		prepared := t.prepared(run.ID)
		t.wrote(run)
		if goes := run.Status != engine.StatusScheduled || !run.Slot.After(t.now); prepared && goes && ended[run.JobUID] {
			t.stored[run.ID].past.followed = true
		}
	}
	for _, ends := range []bool{true, false} { // the previous wave ends before the next one opens
		for i := range decision.Waves {
			if wave := &decision.Waves[i]; wave.Status.Terminal() == ends {
				t.wroteWave(wave)
			}
		}
	}
	for i := range decision.Slots {
		slots := &decision.Slots[i]
		t.w.counts.add("slots", string(slots.Outcome)+" "+string(slots.Reason))
		t.w.note("ledger", slots.ID, string(slots.Reason)+" until "+slots.To.Format("15:04:05.000"), slots.Count)
	}
	for _, handled := range decision.Handled {
		t.w.users.handled(handled)
	}
	for _, handled := range decision.HandledDAGs {
		t.w.users.handledDAG(handled)
	}
	for i := range decision.Tasks {
		task := &decision.Tasks[i]
		if m := t.w.users.planner(task.ID); m != nil {
			m.stands(t.w, task)
			m.planned(t.w, task)
		}
		t.w.note("next slot", task.ID, task.Slot.Format("15:04:05.000")+" "+task.RunAt.Format("15:04:05.000")+" "+task.Job, task.Revision)
	}
	for _, done := range decision.Done {
		t.w.note("command done", done.ID, "", 0)
	}
	t.w.notifier.committed(decision, signs)
	t.markedAll()
	t.promised(decision)
	return nil
}

// ends names the jobs of which a batch ends a run, or an attempt, that was under way. What it lets go had to wait for that,
// even if no write ever said so.
func (t *truth) ends(batch *engine.Batch) map[string]bool {
	ended := map[string]bool{}
	for i := range batch.Runs {
		run := &batch.Runs[i]
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
		run := &batch.Runs[i]
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
		if id := batch.Runs[i].ID; seen[id] {
			t.w.fail("a batch writes a thing once", "run %s is in it twice", id)
		} else {
			seen[id] = true
		}
	}
}

// wrote checks what happened to a run: its status moves as a run's may, and its attempts only grow.
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
	switch {
	case from == run.Status || !from.Terminal():
	case t.mayRerun(run), from != engine.StatusSucceeded && len(t.granted[run.Wave]) > 0:
		known.past.base = known.attempt
		from = engine.StatusScheduled
		if run.Status == engine.StatusScheduled || run.Status.Terminal() { // marked, or run again
			from = run.Status
		}
	default:
		if !from.CanRetry() || len(t.granted[run.ID]) == 0 || run.Task != "" {
			t.w.fail("terminal stays terminal", "run %s went from %s to %s, without a request", run.ID, from, run.Status)
		}
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
	ended := known.ended
	if run.Status.Terminal() && run.Status != known.status {
		ended = t.w.elapsed
	}
	went, as := known.went, known.as
	switch {
	case run.Status.Terminal() || run.Waiting && run.Attempt > 0:
		went, as = 0, 0
	case underWay(run) && went == 0:
		went, as = t.turns, run.Generation
	}
	t.versions[run.ID] = run.Generation
	*known = shadow{
		ended: ended, generation: run.Generation, went: went, as: as, cancelBy: run.CancelBy,
		past: known.past, status: run.Status, revision: run.Revision, attempt: run.Attempt, trigger: run.Trigger, slot: run.Slot, notBefore: run.NotBefore,
		wave: run.Wave, task: run.Task, item: -1, upstream: run.Upstream,
	}
	if run.Item != nil {
		known.item = *run.Item
	}
}

// reaches reports whether a run may go from one status to another in one write, which may hold several steps.
func reaches(from, to engine.Status) bool {
	reached := []engine.Status{from}
	for i := 0; i < len(reached); i++ {
		if canBecome(reached[i], to) {
			return true
		}
		for between := engine.StatusScheduled; between <= engine.StatusRetrying; between++ {
			if canBecome(reached[i], between) && !slices.Contains(reached, between) {
				reached = append(reached, between)
			}
		}
	}
	return false
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

func (r reader) ActiveRunIDs(_ context.Context, shards []int, after string, limit int) ([]string, error) {
	return read(r, func(ctx context.Context) ([]string, error) {
		return r.t.store.ActiveRunIDs(ctx, shards, after, limit)
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

func (r reader) Incidents(_ context.Context, shards []int, after string, limit int) ([]engine.Incident, error) {
	return read(r, func(ctx context.Context) ([]engine.Incident, error) {
		return r.t.store.Incidents(ctx, shards, after, limit)
	})
}

// Take and Commit are not for readers: the driver does both, so that they outlive its engine.
func (r reader) Take(context.Context, int, string) (engine.Term, error) {
	return engine.Term{}, errInjected
}

// Commit is as Take.
func (r reader) Commit(context.Context, []engine.ShardCommit) []error { return nil }
