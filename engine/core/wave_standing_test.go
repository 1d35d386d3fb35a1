package core_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/wave"
	"github.com/tidewheel/tidewheel/spec"
)

// standing derives a wave from what is stored.
func (b *waveBench) standing(id string, d *spec.DAG) (*wave.Standing, []dag.State) {
	b.t.Helper()
	stored := b.waves[id]
	s, err := wave.NewStanding(&stored, d)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, run := range slices.Sorted(maps.Keys(b.runs)) {
		if r := b.runs[run]; r.Wave == id {
			s.Add(&r)
		}
	}
	return s, s.States()
}

// What is shown of a wave is what its runs say, at each of its moments.
func TestStandingIsDerivedFromTheRuns(t *testing.T) {
	ends := map[string]dag.State{"succeeded": dag.Succeeded, "failed": dag.Failed, "skipped": dag.Skipped, "upstream": dag.UpstreamFailed}
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 11))
		tasks := randomDAG(random)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			b := newWaveBench(t, "kind: DAG\nname: random\ndefaults: {binary: work}\ntasks: {a: {}}\n")
			d := definition(tasks)
			b.defineDAG(d)
			b.ends = func(task *engine.Task) engine.Finish {
				at := slices.IndexFunc(tasks, func(m modelTask) bool { return m.name == task.Task })
				if tasks[at].fails {
					return engine.Finish{Status: engine.StatusFailed, NoRetry: true, Error: "no"}
				}
				return engine.Finish{Status: engine.StatusSucceeded}
			}
			wave := b.ask("one", nil, nil)
			for len(b.queue) > 0 {
				s, states := b.standing(wave, d)
				for i := range b.queue {
					task, _ := s.Graph().Index(b.queue[i].Task)
					if states[task] != dag.Running {
						t.Errorf("%s is queued and %s", b.queue[i].Run, states[task])
					}
					items, mapped := s.Items(task)
					if mapped != (tasks[task].items > 0) || mapped && (items.Total != tasks[task].items || items.Running == 0) {
						t.Errorf("%s has the items %+v, want %d of them", b.queue[i].Run, items, tasks[task].items)
					}
				}
				b.execute(random.IntN(len(b.queue)))
			}
			s, states := b.standing(wave, d)
			for task, want := range model(tasks) {
				if states[task] != ends[want] {
					t.Errorf("%s is %s, want %s", tasks[task].name, states[task], want)
				}
				if why := s.Why(task); (want == "upstream") && why == "" || want == "succeeded" && why != "" {
					t.Errorf("%s, which is %s, says why: %q", tasks[task].name, want, why)
				}
			}
		})
	}
}

func TestStandingOfAWaveThatHasNotOpened(t *testing.T) {
	b := newWaveBench(t, diamond)
	b.ask("one", nil, nil)
	second := b.ask("two", nil, nil)
	d, problems := spec.Decode("etl.yaml", []byte(diamond))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	_, states := b.standing(second, d[0].DAG)
	for task, state := range states {
		if state != dag.Waiting {
			t.Errorf("task %d is %s before its wave began", task, state)
		}
	}
}
