package core_test

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
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/spec"
)

// waveBench is a core with one DAG, a store in memory that it is loaded from, and executors that do what the test says.
type waveBench struct {
	t        *testing.T
	core     *core.Core
	now      time.Time
	dag      engine.DAG
	versions map[int64]*spec.DAG
	waves    map[string]engine.Wave
	runs     map[string]engine.Run
	tasks    map[string]engine.ScheduledTask
	slots    map[string]engine.SlotRange
	letters  map[string]bool

	incidents map[string]engine.Incident
	notifies  []core.Notify // that have not been answered

	queue    []*engine.Task // published, and not executed yet
	started  []string       // every attempt that was, in order: "task#attempt"
	commands int
	// torn is how many commits and effects of commits more there are before the engine dies; negative is for ever.
	torn int
	died bool
	// ends defines how an attempt ends; nil is that all succeed.
	ends func(task *engine.Task) engine.Finish
}

const waveUID = "dag"

func newWaveBench(t *testing.T, definition string) *waveBench {
	t.Helper()
	b := &waveBench{
		t: t, now: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), waves: map[string]engine.Wave{}, runs: map[string]engine.Run{},
		tasks: map[string]engine.ScheduledTask{}, slots: map[string]engine.SlotRange{}, versions: map[int64]*spec.DAG{}, letters: map[string]bool{}, incidents: map[string]engine.Incident{},
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
	b.versions[b.dag.Generation] = d
	b.save()
}

func (b *waveBench) save() {
	b.dag.Revision++
	b.dag.Pending = true
	b.step(core.JobsLoaded{DAGs: []core.DAGSnapshot{b.snapshot()}, Binaries: b.binaries()})
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

func (b *waveBench) snapshot() core.DAGSnapshot {
	s := core.DAGSnapshot{UID: waveUID, Spec: map[int64]*spec.DAG{}, Tasks: map[string]engine.ScheduledTask{}}
	d := b.dag
	s.DAG = &d
	maps.Copy(s.Spec, b.versions)
	for id, task := range b.tasks {
		s.Tasks[strings.TrimPrefix(id, waveUID+"-")] = task
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
	}
	return s
}

// restart forgets what the core held and loads it from the store.
func (b *waveBench) restart() {
	config := core.DefaultConfig()
	config.Incidents = true
	b.core = core.NewCore(config, b.now, rand.New(rand.NewPCG(1, 1)))
	b.step(core.HorizonMoved{Until: b.now.Add(1000 * time.Hour)})
	if b.dag.UID != "" {
		b.step(core.JobsLoaded{DAGs: []core.DAGSnapshot{b.snapshot()}, Binaries: b.binaries()})
	}
}

// step gives the core an event, and writes and does all that comes of it. Where the engine dies in between, the next one
// gets results again: they had not been acknowledged.
func (b *waveBench) step(event core.Event) {
	b.try(event)
	if !b.died {
		return
	}
	b.died, b.torn = false, -1
	b.restart()
	if results, ok := event.(core.ResultsReceived); ok {
		b.step(results)
	}
}

func (b *waveBench) try(event core.Event) {
	b.perform(b.core.Step(b.now, event))
	for ready := b.core.Ready(); ready != nil; ready = b.core.Ready() {
		if b.dies() {
			return
		}
		b.write(ready.Batch)
		if b.dies() {
			return
		}
		b.core.Committed(ready)
		b.perform(ready.After)
	}
}

func (b *waveBench) perform(effects []core.Effect) {
	for _, effect := range effects {
		switch e := effect.(type) {
		case core.Publish:
			if !slices.ContainsFunc(b.queue, func(t *engine.Task) bool { return t.Run == e.Task.Run }) &&
				!slices.Contains(b.started, attempt(e.Task)) {
				b.queue = append(b.queue, e.Task)
			}
		case core.Revoke:
			before := len(b.queue)
			b.queue = slices.DeleteFunc(b.queue, func(t *engine.Task) bool { return t.Run == e.Run })
			defer b.try(core.AttemptRevoked{Run: e.Run, Attempt: e.Attempt, Revoked: len(b.queue) < before})
		case core.Notify:
			b.notifies = append(b.notifies, e)
		case core.Inspect:
			run := b.runs[e.Run]
			defer b.try(core.AttemptInspected{Run: e.Run, Attempt: e.Attempt, State: b.state(&run, e.Attempt)})
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

// dies reports whether the engine dies here.
func (b *waveBench) dies() bool {
	if b.torn == 0 {
		b.died = true
	} else if b.torn > 0 {
		b.torn--
	}
	return b.died
}

func (b *waveBench) write(d *engine.Batch) {
	b.t.Helper()
	for _, w := range d.Waves {
		if have := b.waves[w.ID].Revision; have != w.Revision-1 {
			b.t.Fatalf("wave %s: revision %d is written over %d", w.ID, w.Revision, have)
		}
		b.waves[w.ID] = w
	}
	for i := range d.Runs {
		run := d.Runs[i]
		if have := b.runs[run.ID].Revision; have != run.Revision-1 && have != 0 {
			b.t.Fatalf("run %s: revision %d is written over %d", run.ID, run.Revision, have)
		}
		b.runs[run.ID] = run
	}
	for _, s := range d.Slots {
		b.slots[s.ID] = s
	}
	for i := range d.DeadLetters {
		b.letters[d.DeadLetters[i].RunID] = true
	}
	for _, id := range d.DropLetters {
		delete(b.letters, id)
	}
	for _, id := range d.DropRuns {
		delete(b.runs, id)
	}
	for _, task := range d.Tasks {
		if have := b.tasks[task.ID].Revision; have != task.Revision-1 {
			b.t.Fatalf("task %s: revision %d is written over %d", task.ID, task.Revision, have)
		}
		b.tasks[task.ID] = task
	}
	for _, id := range d.DropTasks {
		delete(b.tasks, id)
	}
	for _, i := range d.Incidents {
		b.incidents[i.ID] = i
	}
	for _, id := range d.DropIncidents {
		delete(b.incidents, id)
	}
	for _, h := range d.HandledDAGs {
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
	b.step(core.ResultsReceived{Results: []engine.Result{{Kind: engine.ResultStarted, Run: task.Run, Attempt: task.Attempt,
		Shard: task.Shard, Executor: "one", At: b.now}}})
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
	b.step(core.ResultsReceived{Results: []engine.Result{{Kind: engine.ResultFinished, Run: task.Run, Attempt: task.Attempt,
		Shard: task.Shard, Executor: "one", At: b.now, Finish: &finish}}})
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
		b.step(core.Tick{})
		b.drain()
	}
}

// ask triggers a wave.
func (b *waveBench) ask(key string, payload json.RawMessage, args map[string]string) string {
	w := engine.Wave{
		ID: engine.ManualWaveID(waveUID, key), Namespace: "default", DAGUID: waveUID, DAG: b.dag.Name, Shard: b.dag.Shard,
		Trigger: engine.TriggerManual, By: "ann", Status: engine.StatusScheduled, Payload: payload, Args: args, CreatedAt: b.now,
	}
	b.receive(engine.Command{Kind: engine.CommandStartWave, RunID: w.ID, Wave: &w})
	return w.ID
}

func (b *waveBench) command(kind engine.CommandKind, wave, task string, mark engine.Status) {
	b.receive(engine.Command{Kind: kind, RunID: wave, Task: task, Mark: mark, Revision: b.waves[wave].Revision})
}

// receive gives the engine a command about a wave, or a run, with what the store says of it.
func (b *waveBench) receive(command engine.Command) {
	b.commands++
	command.ID, command.JobUID, command.By, command.At = fmt.Sprint(b.commands), waveUID, "ann", b.now
	snapshot := b.snapshot()
	e := core.CommandReceived{Command: command, DAG: &snapshot, Binaries: b.binaries()}
	if w, is := b.waves[command.RunID]; is {
		e.Wave = &w
	}
	for _, id := range slices.Sorted(maps.Keys(b.runs)) {
		if e.Wave != nil && b.runs[id].Wave == e.Wave.ID {
			e.WaveRuns = append(e.WaveRuns, b.runs[id])
		}
	}
	b.step(e)
}

// statuses returns how the runs of a wave stand, by task.
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

// ledger returns what the ledger says of a root.
func (b *waveBench) ledger(root string) string {
	var all []string
	for _, id := range slices.Sorted(maps.Keys(b.slots)) {
		if s := b.slots[id]; s.JobUID == engine.RootID(waveUID, root) {
			all = append(all, fmt.Sprintf("%s..%s %d %s(%s)", s.From.Format("15:04"), s.To.Format("15:04"), s.Count, s.Outcome, s.Reason))
		}
	}
	return strings.Join(all, ", ")
}
