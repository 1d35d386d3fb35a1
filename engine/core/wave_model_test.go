package core_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// modelTask is a task of a random DAG: what the definition says, and what its program will do.
type modelTask struct {
	name    string
	needs   []int
	trigger dag.Trigger
	items   int // -1: not mapped
	when    string
	fails   bool
}

func randomDAG(random *rand.Rand) []modelTask {
	tasks := make([]modelTask, 1+random.IntN(12))
	for i := range tasks {
		t := &tasks[i]
		t.name, t.items = fmt.Sprintf("t%d", i), -1
		for need := range i {
			if random.IntN(3) == 0 {
				t.needs = append(t.needs, need)
			}
		}
		if len(t.needs) > 0 {
			t.trigger = dag.Triggers()[random.IntN(len(dag.Triggers()))]
		}
		switch random.IntN(8) {
		case 0:
			t.items = random.IntN(4)
		case 1:
			t.when = "false"
		case 2:
			t.when = "epoch > 0"
		}
		t.fails = random.IntN(4) == 0
	}
	return tasks
}

func definition(tasks []modelTask) *spec.DAG {
	d := &spec.DAG{Name: "random", Defaults: spec.TaskDefaults{Binary: "work"}}
	for _, t := range tasks {
		task := spec.Task{Name: t.name, Trigger: t.trigger, When: t.when}
		for _, need := range t.needs {
			task.Needs = append(task.Needs, tasks[need].name)
		}
		if t.items >= 0 {
			task.ForEach = "[" + strings.TrimSuffix(strings.Repeat("1, ", t.items), ", ") + "]"
		}
		d.Tasks = append(d.Tasks, task)
	}
	d.ApplyDefaults()
	return d
}

// model returns how every task ends, the slow way: by what its needs have come to, in order.
func model(tasks []modelTask) []string {
	ends := make([]string, len(tasks))
	for i, t := range tasks {
		good, bad, skipped := 0, 0, 0
		for _, need := range t.needs {
			switch ends[need] {
			case "succeeded":
				good++
			case "failed", "upstream":
				bad++
			default:
				skipped++
			}
		}
		all := len(t.needs)
		closed := ""
		switch t.trigger {
		case dag.AllSuccess, "":
			if bad > 0 {
				closed = "upstream"
			} else if good < all {
				closed = "skipped"
			}
		case dag.NoneFailed:
			if bad > 0 {
				closed = "upstream"
			}
		case dag.OneSuccess:
			if good == 0 && bad > 0 {
				closed = "upstream"
			} else if good == 0 {
				closed = "skipped"
			}
		case dag.OneFailed:
			if bad == 0 {
				closed = "skipped"
			}
		case dag.AllDone, dag.Always:
		}
		switch {
		case closed != "":
			ends[i] = closed
		case t.when == "false" || t.items == 0:
			ends[i] = "skipped"
		case t.fails:
			ends[i] = "failed"
		default:
			ends[i] = "succeeded"
		}
	}
	return ends
}

// The engine is held to the model over random DAGs, executed in random order, with crashes at random moments, and
// resumed with their programs mended.
func TestWavesEndAsTheModelSays(t *testing.T) {
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 7))
		tasks := randomDAG(random)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			b := newWaveBench(t, "kind: DAG\nname: random\ndefaults: {binary: work}\ntasks: {a: {}}\n")
			d := definition(tasks)
			d.MaxParallel = random.IntN(3)
			b.defineDAG(d)
			b.ends = func(task *engine.Task) engine.Finish {
				at := slices.IndexFunc(tasks, func(m modelTask) bool { return m.name == task.Task })
				if tasks[at].fails {
					code := 64
					return engine.Finish{Status: engine.StatusFailed, ExitCode: &code}
				}
				return engine.Finish{Status: engine.StatusSucceeded}
			}
			wave := b.ask("one", nil, nil)
			b.play(random)
			b.compare(wave, tasks, model(tasks))
			before := slices.Clone(b.started)
			for i := range tasks {
				tasks[i].fails = false
			}
			if b.waves[wave].Status != engine.StatusFailed {
				return
			}
			succeeded := map[string]bool{}
			for id, run := range b.runs {
				succeeded[id] = run.Status == engine.StatusSucceeded
			}
			b.command(engine.CommandResumeWave, wave, "", engine.StatusInvalid)
			b.play(random)
			for _, again := range b.started[len(before):] {
				if id, _, _ := strings.Cut(again, "#"); succeeded[id] {
					t.Errorf("%s had succeeded, and was started again", again)
				}
			}
			if b.waves[wave].Status != engine.StatusSucceeded {
				t.Errorf("mended and resumed, the wave is %s: %s", b.waves[wave].Status, b.waves[wave].Reason)
			}
		})
	}
}

// play executes what is queued in a random order, with crashes in between.
func (b *waveBench) play(random *rand.Rand) {
	for len(b.queue) > 0 {
		if random.IntN(6) == 0 {
			b.restart()
		}
		if random.IntN(4) == 0 {
			b.torn = random.IntN(4)
		}
		b.execute(random.IntN(len(b.queue)))
		b.torn = -1
		if random.IntN(6) == 0 {
			b.restart()
		}
	}
}

func (b *waveBench) compare(wave string, tasks []modelTask, want []string) {
	b.t.Helper()
	failed := false
	for i, task := range tasks {
		failed = failed || want[i] == "failed"
		run, single := b.runs[engine.TaskRunID(wave, task.name)]
		if task.items > 0 && (want[i] == "succeeded" || want[i] == "failed") {
			for item := range task.items {
				if got := b.runs[engine.ItemRunID(wave, item, task.name)].Status.String(); got != want[i] {
					b.t.Errorf("%s[%d] is %q, want %s", task.name, item, got, want[i])
				}
			}
			continue
		}
		got := run.Status.String()
		if run.Upstream {
			got = "upstream"
		}
		if !single || got != want[i] {
			b.t.Errorf("%s (%s of %v) is %q, want %s", task.name, task.trigger, task.needs, got, want[i])
		}
	}
	status := engine.StatusSucceeded
	if failed {
		status = engine.StatusFailed
	}
	if b.waves[wave].Status != status {
		b.t.Errorf("the wave is %s, want %s: %s", b.waves[wave].Status, status, b.waves[wave].Reason)
	}
	for started := range slices.Values(b.started) {
		if n := strings.Count(strings.Join(b.started, " ")+" ", started+" "); n != 1 {
			b.t.Errorf("%s was started %d times", started, n)
		}
	}
}
