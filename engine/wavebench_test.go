package engine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// waveBench is a core with one DAG, a store in memory that it is loaded from, and executors that do what the test says.
type waveBench struct {
	t       *testing.T
	core    *engine.Core
	now     time.Time
	dag     engine.DAG
	forms   map[int64]*spec.DAG
	waves   map[string]engine.Wave
	runs    map[string]engine.Run
	tasks   map[string]engine.ScheduledTask
	slots   map[string]engine.SlotRange
	letters map[string]bool

	queue    []*engine.Task // published, and not executed yet
	started  []string       // every attempt that was, in order: "task#attempt"
	commands int
	// torn is how many writes more the store does before the engine dies; negative is for ever.
	torn int
	died bool
	// ends says how an attempt ends; nil is that all succeed.
	ends func(task *engine.Task) engine.Finish
	// opens is told of each wave that is written as running; nil is nobody.
	opens func(wave string)
	parts []*engine.Batch // all that were written
}

const waveUID = "dag"

func newWaveBench(t *testing.T, definition string) *waveBench {
	t.Helper()
	b := &waveBench{
		t: t, now: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), waves: map[string]engine.Wave{}, runs: map[string]engine.Run{},
		tasks: map[string]engine.ScheduledTask{}, slots: map[string]engine.SlotRange{}, forms: map[int64]*spec.DAG{}, letters: map[string]bool{},
	}
	b.torn = -1
	b.restart()
	b.define(definition)
	return b
}

// define saves a definition, the first or a changed one.
func (b *waveBench) define(definition string) {
	b.t.Helper()
	documents, problems := spec.Decode("dag.yaml", []byte(definition))
	if len(problems) > 0 {
		b.t.Fatal(problems)
	}
	b.defineDAG(documents[0].DAG)
}

func (b *waveBench) defineDAG(d *spec.DAG) {
	b.dag.UID, b.dag.Namespace, b.dag.Name, b.dag.Shard = waveUID, "default", d.Name, engine.ShardOf(waveUID)
	b.dag.Spec = *d
	b.dag.Generation++
	if b.dag.CreatedAt.IsZero() {
		b.dag.CreatedAt = b.now
	}
	b.dag.UpdatedAt = b.now
	b.forms[b.dag.Generation] = d
	b.save()
}

func (b *waveBench) save() {
	b.dag.Revision++
	b.dag.Pending = true
	b.step(engine.JobsLoaded{DAGs: []engine.DAGSnapshot{b.snapshot()}, Binaries: b.binaries()})
}

func (b *waveBench) pause(paused bool) {
	b.dag.Paused, b.dag.PausedAt = paused, b.now
	b.save()
}

func (b *waveBench) binaries() []engine.Binary {
	return []engine.Binary{{
		Namespace: "default", Name: "work", Revision: 1,
		Versions: []engine.BinaryVersion{{N: 1, SHA256: strings.Repeat("ab", 32), Kind: "script"}},
	}}
}

func (b *waveBench) snapshot() engine.DAGSnapshot {
	s := engine.DAGSnapshot{UID: waveUID, Spec: map[int64]*spec.DAG{}, Tasks: map[string]engine.ScheduledTask{}, Ledger: map[string][]engine.SlotRange{}, Had: map[string]engine.Run{}}
	d := b.dag
	s.DAG = &d
	maps.Copy(s.Spec, b.forms)
	for id, task := range b.tasks {
		root := strings.TrimPrefix(id, waveUID+"-")
		if engine.IsTurn(id) {
			s.Turn = &task
			continue
		}
		s.Tasks[root] = task
		for _, key := range slices.Sorted(maps.Keys(b.slots)) {
			if b.slots[key].JobUID == id && !b.slots[key].To.Before(task.Slot) {
				s.Ledger[root] = append(s.Ledger[root], b.slots[key])
			}
		}
	}
	open := ""
	for _, id := range slices.Sorted(maps.Keys(b.waves)) {
		w := b.waves[id]
		s.LastEpoch = max(s.LastEpoch, w.Epoch)
		if !w.Status.Terminal() {
			s.Waves = append(s.Waves, w)
		}
		if w.Status == engine.StatusRunning {
			open = id
		}
	}
	for _, id := range slices.Sorted(maps.Keys(b.runs)) {
		r := b.runs[id]
		if r.Wave == open || !r.Status.Terminal() {
			s.Runs = append(s.Runs, r.Clone())
		}
		before := engine.WaveID(waveUID, r.Epoch-1)
		if had, is := b.runs[engine.TaskRunID(before, r.Task)]; is && before != open && r.Status == engine.StatusScheduled {
			s.Had[r.Task] = had
		}
		if _, planned := s.Tasks[r.Task]; !planned && r.Status == engine.StatusScheduled && !r.Slot.IsZero() {
			for _, key := range slices.Sorted(maps.Keys(b.slots)) {
				if b.slots[key].JobUID == engine.RootID(waveUID, r.Task) && !b.slots[key].To.Before(r.Slot) {
					s.Ledger[r.Task] = append(s.Ledger[r.Task], b.slots[key])
				}
			}
		}
	}
	return s
}

// restart forgets what the core held and loads it from the store.
func (b *waveBench) restart() {
	b.core = engine.NewCore(engine.DefaultConfig(), b.now, rand.New(rand.NewPCG(1, 1)))
	b.step(engine.HorizonMoved{Until: b.now.Add(1000 * time.Hour)})
	if b.dag.UID != "" {
		b.step(engine.JobsLoaded{DAGs: []engine.DAGSnapshot{b.snapshot()}, Binaries: b.binaries()})
	}
}

// step gives the core an event, and writes and does all that comes of it. Where the engine dies in between, the next one
// gets results again: they had not been acknowledged.
func (b *waveBench) step(event engine.Event) {
	b.try(event)
	if !b.died {
		return
	}
	b.died, b.torn = false, -1
	b.restart()
	if results, ok := event.(engine.ResultsReceived); ok {
		b.step(results)
	}
}

func (b *waveBench) try(event engine.Event) {
	b.perform(b.core.Step(b.now, event))
	for ready := b.core.Ready(); ready != nil; ready = b.core.Ready() {
		for _, part := range ready.Batch.Parts() {
			if b.write(part); b.died {
				return
			}
		}
		b.core.Committed(ready)
		b.perform(ready.After)
	}
}

func (b *waveBench) perform(effects []engine.Effect) {
	for _, effect := range effects {
		switch e := effect.(type) {
		case engine.Publish:
			if !slices.ContainsFunc(b.queue, func(t *engine.Task) bool { return t.Run == e.Task.Run }) && !slices.Contains(b.started, attempt(e.Task)) {
				b.queue = append(b.queue, e.Task)
			}
		case engine.Revoke:
			before := len(b.queue)
			b.queue = slices.DeleteFunc(b.queue, func(t *engine.Task) bool { return t.Run == e.Run })
			defer b.try(engine.AttemptRevoked{Run: e.Run, Attempt: e.Attempt, Revoked: len(b.queue) < before})
		case engine.Inspect:
			run := b.runs[e.Run]
			defer b.try(engine.AttemptInspected{Run: e.Run, Attempt: e.Attempt, State: b.state(&run, e.Attempt)})
		}
	}
}

func attempt(t *engine.Task) string { return fmt.Sprintf("%s#%d", t.Run, t.Attempt) }

func (b *waveBench) state(r *engine.Run, n int) engine.AttemptState {
	if slices.Contains(b.started, fmt.Sprintf("%s#%d", r.ID, n)) {
		return engine.AttemptState{Last: engine.ResultFinished, Sequence: 1}
	}
	return engine.AttemptState{}
}

// dies reports whether the store does no more writes.
func (b *waveBench) dies() bool {
	if b.torn == 0 {
		b.died = true
	} else if b.torn > 0 {
		b.torn--
	}
	return b.died
}

func (b *waveBench) write(batch *engine.Batch) {
	b.t.Helper()
	b.parts = append(b.parts, batch)
	for _, w := range batch.Waves {
		if b.opens != nil && w.Wave.Status == engine.StatusRunning {
			b.opens(w.Wave.ID)
		}
		if b.dies() {
			return
		}
		if have := b.waves[w.Wave.ID].Revision; have != w.Wave.Revision-1 {
			b.t.Fatalf("wave %s: revision %d is written over %d", w.Wave.ID, w.Wave.Revision, have)
		}
		b.waves[w.Wave.ID] = w.Wave
	}
	for _, w := range batch.Runs {
		if b.dies() {
			return
		}
		if have := b.runs[w.Run.ID]; have.Revision != w.Run.Revision-1 {
			b.t.Fatalf("run %s: revision %d is written over %d", w.Run.ID, w.Run.Revision, have.Revision)
		}
		b.runs[w.Run.ID] = w.Run
	}
	for _, s := range batch.Slots {
		if b.dies() {
			return
		}
		b.slots[s.ID] = s
	}
	for i := range batch.DeadLetters {
		if b.dies() {
			return
		}
		b.letters[batch.DeadLetters[i].RunID] = true
	}
	for _, id := range batch.DropLetters {
		if b.dies() {
			return
		}
		delete(b.letters, id)
	}
	for _, drop := range batch.DropRuns {
		if b.dies() {
			return
		}
		delete(b.runs, drop.ID)
	}
	for _, w := range batch.Tasks {
		if b.dies() {
			return
		}
		if w.Delete {
			delete(b.tasks, w.Task.ID)
			continue
		}
		if have := b.tasks[w.Task.ID].Revision; have != w.Task.Revision-1 {
			b.t.Fatalf("task %s: revision %d is written over %d", w.Task.ID, w.Task.Revision, have)
		}
		b.tasks[w.Task.ID] = w.Task
	}
	for _, h := range batch.HandledDAGs {
		b.dag.Pending = b.dag.Pending && h.Revision != b.dag.Revision
	}
}

// execute starts and ends the attempt that waits at this place of the queue.
func (b *waveBench) execute(at int) {
	b.begin(at, true)
}

func (b *waveBench) begin(at int, end bool) {
	task := b.queue[at]
	b.queue = slices.Delete(b.queue, at, at+1)
	b.started = append(b.started, attempt(task))
	b.step(engine.ResultsReceived{Results: []engine.Result{{Kind: engine.ResultStarted, Run: task.Run, Attempt: task.Attempt, Shard: task.Shard, Executor: "one", At: b.now}}})
	if end {
		b.end(task)
	}
}

func (b *waveBench) end(task *engine.Task) {
	finish := engine.Finish{Status: engine.StatusSucceeded}
	if b.ends != nil {
		finish = b.ends(task)
	}
	finish.StartedAt, finish.FinishedAt = b.now, b.now
	b.step(engine.ResultsReceived{Results: []engine.Result{{Kind: engine.ResultFinished, Run: task.Run, Attempt: task.Attempt, Shard: task.Shard, Executor: "one", At: b.now, Finish: &finish}}})
}

// drain executes all that is and becomes queued.
func (b *waveBench) drain() {
	for len(b.queue) > 0 {
		b.execute(0)
	}
}

// until lets time pass, second by second, and executes what becomes queued.
func (b *waveBench) until(at time.Duration) {
	end := b.dag.CreatedAt.Add(at)
	for b.now.Before(end) {
		b.now = b.now.Add(time.Second)
		b.step(engine.Tick{})
		b.drain()
	}
}

// ask asks for a wave by hand.
func (b *waveBench) ask(key string, payload json.RawMessage, args map[string]string) string {
	w := engine.Wave{
		ID: engine.ManualWaveID(waveUID, key), Revision: 1, Namespace: "default", DAGUID: waveUID, DAG: b.dag.Name, Shard: b.dag.Shard,
		Trigger: engine.TriggerManual, By: "ann", Status: engine.StatusScheduled, Payload: payload, Args: args, CreatedAt: b.now,
	}
	b.waves[w.ID] = w
	b.command(engine.CommandStartWave, w.ID, "", engine.StatusInvalid)
	return w.ID
}

func (b *waveBench) command(kind engine.CommandKind, wave, task string, mark engine.Status) {
	b.commands++
	snapshot := b.snapshot()
	e := engine.CommandReceived{
		Command: engine.Command{ID: fmt.Sprint(b.commands), Kind: kind, JobUID: waveUID, RunID: wave, By: "ann", At: b.now, Task: task, Mark: mark, Revision: b.waves[wave].Revision},
		DAG:     &snapshot, Binaries: b.binaries(),
	}
	w := b.waves[wave]
	e.Wave = &w
	for _, id := range slices.Sorted(maps.Keys(b.runs)) {
		if b.runs[id].Wave == wave {
			e.WaveRuns = append(e.WaveRuns, b.runs[id])
		}
	}
	b.step(e)
}

// commandAbout asks for something about a run.
func (b *waveBench) commandAbout(kind engine.CommandKind, run string) {
	b.commands++
	snapshot := b.snapshot()
	b.step(engine.CommandReceived{
		Command: engine.Command{ID: fmt.Sprint(b.commands), Kind: kind, JobUID: waveUID, RunID: run, By: "ann", At: b.now},
		DAG:     &snapshot, Binaries: b.binaries(),
	})
}

// statuses tells how the runs of a wave stand, by task.
func (b *waveBench) statuses(wave string) string {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(b.runs)) {
		if r := b.runs[id]; r.Wave == wave {
			word := r.Task
			if r.Item != nil {
				word += fmt.Sprintf("[%d]", *r.Item)
			}
			word += " " + r.Status.String()
			if r.Upstream {
				word += " (upstream)"
			}
			all = append(all, word)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (b *waveBench) wants(wave string, status engine.Status, statuses string) {
	b.t.Helper()
	if got := b.waves[wave].Status; got != status {
		b.t.Errorf("wave %s is %s, want %s (%s)", wave, got, status, b.waves[wave].Reason)
	}
	if got := b.statuses(wave); got != statuses {
		b.t.Errorf("wave %s:\n got %s\nwant %s", wave, got, statuses)
	}
}

// ledger tells what the ledger says of a root.
func (b *waveBench) ledger(root string) string {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(b.slots)) {
		if s := b.slots[id]; s.JobUID == engine.RootID(waveUID, root) {
			all = append(all, fmt.Sprintf("%s..%s %d %s(%s)", s.From.Format("15:04"), s.To.Format("15:04"), s.Count, s.Outcome, s.Reason))
		}
	}
	return strings.Join(all, ", ")
}
