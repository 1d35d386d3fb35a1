package ui_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
)

// past is how a wave went that a test writes.
type past struct {
	epoch   int64
	trigger engine.Trigger
	by      string
	at      time.Time
	// ends is how a task ends; nil: they succeed. dag.Running leaves it running, dag.Waiting a root before its slot.
	ends  func(task string) dag.State
	items map[string]int // how many items a mapped task has
}

// putWave writes a wave with its runs as the engine would have, and returns it.
func (s *site) putWave(t *testing.T, d *engine.DAG, p past) engine.Wave {
	t.Helper()
	graph, err := d.Spec.Graph()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewSource(p.epoch))
	wave := engine.Wave{
		ID: engine.WaveID(d.UID, p.epoch), Revision: 1, Namespace: d.Namespace, DAGUID: d.UID, DAG: d.Name, Shard: d.Shard, Epoch: p.epoch,
		Generation: d.Generation, Trigger: p.trigger, By: p.by, Status: engine.StatusRunning, CreatedAt: p.at, StartedAt: p.at,
	}
	if p.trigger == engine.TriggerSchedule {
		wave.Slot = p.at.Truncate(time.Second)
	}
	states := graph.NewWave()
	for _, root := range graph.Roots() {
		if p.ends == nil || p.ends(graph.Name(root)) != dag.Waiting {
			states.Release(root)
		}
	}
	ended := make([]time.Time, graph.Len())
	last := p.at
	var runs []engine.Run
	put := func(run engine.Run) { runs = append(runs, run) }
	for {
		task, ok := states.Take()
		if !ok {
			break
		}
		begin := p.at
		for need := range graph.Needs(task) {
			if ended[need].After(begin) {
				begin = ended[need]
			}
		}
		end := dag.Succeeded
		if p.ends != nil {
			end = p.ends(graph.Name(task))
		}
		count := max(p.items[graph.Name(task)], 1)
		for item := range count {
			run := s.taskRun(d, &wave, graph, task, begin, time.Duration(200+random.Intn(2400))*time.Millisecond, end)
			if p.items[graph.Name(task)] > 0 {
				run.ID, run.Item = engine.ItemRunID(wave.ID, item, run.Task), &item
			}
			if run.FinishedAt.After(ended[task]) {
				ended[task] = run.FinishedAt
			}
			put(run)
		}
		if end == dag.Running {
			continue
		}
		if ended[task].After(last) {
			last = ended[task]
		}
		closed, _ := states.End(task, end)
		for _, other := range closed {
			run := s.taskRun(d, &wave, graph, other, ended[task], 0, dag.Skipped)
			run.Upstream = states.State(other) == dag.UpstreamFailed
			run.Reason = graph.Name(task) + " failed"
			ended[other] = ended[task]
			put(run)
		}
	}
	switch states.Result() {
	case dag.WaveSucceeded:
		wave.Status = engine.StatusSucceeded
	case dag.WaveFailed:
		wave.Status, wave.Reason = engine.StatusFailed, "task join: exit code 1"
	case dag.WaveCancelled:
		wave.Status, wave.CancelBy, wave.Reason = engine.StatusCancelled, "mira", "cancelled by mira"
	case dag.Unfinished:
	}
	if states.Done() {
		wave.FinishedAt = last
		wave.Tally = engine.WaveTally{
			Tasks: graph.Len(), Succeeded: states.Count(dag.Succeeded), Failed: states.Count(dag.Failed), Cancelled: states.Count(dag.Cancelled),
			Skipped: states.Count(dag.Skipped) + states.Count(dag.UpstreamFailed),
		}
	}
	s.Write(t, engine.Batch{Waves: []engine.Wave{wave}, Runs: runs})
	return wave
}

func (s *site) taskRun(d *engine.DAG, wave *engine.Wave, graph *dag.Graph, task int, begin time.Time, took time.Duration, end dag.State) engine.Run {
	name := graph.Name(task)
	run := engine.Run{
		ID: engine.TaskRunID(wave.ID, name), Revision: 1, Namespace: d.Namespace, JobUID: d.UID, Shard: d.Shard, Generation: d.Generation,
		DAG: d.Name, Wave: wave.ID, Epoch: wave.Epoch, Task: name, Trigger: engine.TriggerUpstream, CreatedAt: begin, Binary: "harbour-log@stable",
	}
	if graph.Root(task) {
		run.Trigger, run.Slot = wave.Trigger, wave.Slot
	}
	if end == dag.Skipped {
		run.Status, run.FinishedAt, run.Reason = engine.StatusSkipped, begin, "its condition is not met"
		return run
	}
	attempt := engine.Attempt{N: 1, Status: engine.StatusRunning, Executor: "one", Token: 1, QueuedAt: begin, ClaimedAt: begin.Add(80 * time.Millisecond)}
	run.Status, run.Attempt, run.QueuedAt = engine.StatusRunning, 1, begin
	if end != dag.Running {
		attempt.StartedAt, attempt.FinishedAt = begin.Add(90*time.Millisecond), begin.Add(90*time.Millisecond+took)
		run.StartedAt, run.FinishedAt = attempt.StartedAt, attempt.FinishedAt
		zero, one := 0, 1
		switch end {
		case dag.Failed:
			run.Status, attempt.Status, attempt.ExitCode = engine.StatusDead, engine.StatusFailed, &one
			run.Reason = "its attempts are used up: exit code 1"
			first := attempt
			attempt.N, attempt.QueuedAt = 2, attempt.FinishedAt.Add(500*time.Millisecond)
			attempt.StartedAt, attempt.FinishedAt = attempt.QueuedAt.Add(60*time.Millisecond), attempt.QueuedAt.Add(took)
			run.FinishedAt, run.Attempt = attempt.FinishedAt, 2
			run.Attempts = append(run.Attempts, first)
		case dag.Cancelled:
			run.Status, attempt.Status = engine.StatusCancelled, engine.StatusCancelled
		default:
			run.Status, attempt.Status, attempt.ExitCode = engine.StatusSucceeded, engine.StatusSucceeded, &zero
			run.Outputs = json.RawMessage(`{"rows": 12}`)
		}
	}
	run.Attempts = append(run.Attempts, attempt)
	return run
}

// etl is a DAG with two roots of different rhythm, a mapped task and a condition.
const etl = `
kind: DAG
name: etl
description: Orders and rates, joined and told per shop
timezone: Europe/Amsterdam
args: {day: today}
labels: {team: quay}
defaults: {binary: harbour-log, retry: {max_attempts: 2}}
tasks:
  orders: {schedule: "0 * * * *"}
  rates:  {schedule: "*/30 * * * *"}
  join:   {needs: [orders, rates]}
  shops:  {needs: [join], for_each: "[1, 2, 3, 4, 5, 6, 7, 8]", max_parallel: 4}
  report: {needs: [shops], trigger: none_failed}
  tell:   {needs: [report], trigger: all_done}
`

// fillDAGs makes DAGs with waves in every state.
func (s *site) fillDAGs(t *testing.T) (open engine.Wave) {
	t.Helper()
	d := s.PutDAG(t, etl)
	items := map[string]int{"shops": 8}
	for epoch := int64(1); epoch <= 24; epoch++ {
		p := past{epoch: epoch, trigger: engine.TriggerSchedule, at: s.Now.Add(time.Duration(epoch-26) * time.Hour), items: items}
		switch epoch {
		case 7, 23, 24:
			p.ends = failingAt("join")
		case 12:
			p.ends, p.trigger, p.by = ending("report", dag.Skipped), engine.TriggerManual, "mira"
		case 15:
			p.ends = ending("report", dag.Cancelled)
		}
		s.putWave(t, &d, p)
	}
	open = s.putWave(t, &d, past{
		epoch: 25, trigger: engine.TriggerSchedule, at: s.Now.Add(-8 * time.Second),
		ends: func(task string) dag.State {
			return map[string]dag.State{"orders": dag.Waiting, "rates": dag.Succeeded}[task]
		},
	})
	asked := engine.Wave{
		ID: engine.ManualWaveID(d.UID, "later"), Revision: 1, Namespace: d.Namespace, DAGUID: d.UID, DAG: d.Name, Shard: d.Shard,
		Trigger: engine.TriggerManual, By: "joris", Status: engine.StatusScheduled, CreatedAt: s.Now.Add(-2 * time.Second),
		Payload: json.RawMessage(`{"day": "<script>"}`), Args: map[string]string{"day": "2026-12-01"},
	}
	s.PutWave(t, asked)
	return open
}

func ending(task string, state dag.State) func(string) dag.State {
	return func(name string) dag.State {
		if name == task {
			return state
		}
		return dag.Succeeded
	}
}

func failingAt(task string) func(string) dag.State { return ending(task, dag.Failed) }

// layered is a DAG of so many layers, each of so many tasks that need some of the layer before.
func layered(name string, layers, width int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "kind: DAG\nname: %s\ndefaults: {binary: harbour-log}\ntasks:\n", name)
	for layer := range layers {
		for i := range width {
			fmt.Fprintf(&out, "  step%d-part-%03d: {", layer, i)
			switch {
			case layer > 0 && width == 1:
				fmt.Fprintf(&out, "needs: [step%d-part-000]", layer-1)
			case layer > 0:
				fmt.Fprintf(&out, "needs: [step%d-part-%03d, step%d-part-%03d]", layer-1, i, layer-1, (i+7)%width)
			}
			out.WriteString("}\n")
		}
	}
	return out.String()
}

// fanned is a DAG of one task, many after it, and one after all of them.
func fanned(name string, width int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "kind: DAG\nname: %s\ndefaults: {binary: harbour-log}\ntasks:\n  split: {}\n", name)
	var needs []string
	for i := range width {
		needs = append(needs, fmt.Sprintf("part-%04d", i))
		fmt.Fprintf(&out, "  part-%04d: {needs: [split]}\n", i)
	}
	fmt.Fprintf(&out, "  merge: {needs: [%s]}\n", strings.Join(needs, ", "))
	return out.String()
}

// fillLargeDAGs makes DAGs that are too large to be seen as a whole.
func (s *site) fillLargeDAGs(t *testing.T) {
	t.Helper()
	for _, definition := range []string{fanned("fan-1000", 1000), layered("layers-1000", 25, 40), layered("layers-10000", 20, 500), layered("ten", 4, 5), layered("chain-50", 50, 1)} {
		d := s.PutDAG(t, definition)
		s.putWave(t, &d, past{epoch: 1, trigger: engine.TriggerManual, by: "mira", at: s.Now.Add(-time.Hour)})
		s.putWave(t, &d, past{epoch: 2, trigger: engine.TriggerManual, by: "mira", at: s.Now.Add(-30 * time.Minute), ends: func(task string) dag.State {
			if strings.HasSuffix(task, "13") {
				return dag.Failed
			}
			return dag.Succeeded
		}})
		s.putWave(t, &d, past{epoch: 3, trigger: engine.TriggerManual, by: "mira", at: s.Now.Add(-10 * time.Second), ends: func(task string) dag.State {
			if strings.HasPrefix(task, "step2") || strings.HasSuffix(task, "7") {
				return dag.Running
			}
			return dag.Succeeded
		}})
	}
}
