package dag_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/tidewheel/tidewheel/dag"
)

// model is the slow, obvious wave: it knows nothing but how tasks ended, and computes all states again each time.
type model struct {
	tasks     []dag.Task
	released  []bool
	taken     []bool
	ended     map[string]dag.State // by a run, a mark or a cancellation
	cancelled bool
}

// states goes round until nothing changes, so it relies on no order.
func (m *model) states() []dag.State {
	states := make([]dag.State, len(m.tasks))
	for i := range states {
		states[i] = dag.Waiting
	}
	for changed := true; changed; {
		changed = false
		for i, task := range m.tasks {
			state := m.state(task, i, states)
			if state != states[i] {
				states[i] = state
				changed = true
			}
		}
	}
	return states
}

func (m *model) state(task dag.Task, i int, states []dag.State) dag.State {
	if state, ended := m.ended[task.Name]; ended {
		return state
	}
	if m.taken[i] {
		return dag.Running
	}
	if len(task.Needs) == 0 {
		if m.released[i] {
			return dag.Ready
		}
		return dag.Waiting
	}
	var succeeded, failed, skipped int
	for _, name := range task.Needs {
		switch states[slices.IndexFunc(m.tasks, func(t dag.Task) bool { return t.Name == name })] {
		case dag.Succeeded:
			succeeded++
		case dag.Failed, dag.Cancelled, dag.UpstreamFailed:
			failed++
		case dag.Skipped:
			skipped++
		default:
		}
	}
	open := len(task.Needs) - succeeded - failed - skipped
	switch task.Trigger {
	case dag.OneSuccess:
		if succeeded > 0 {
			return dag.Ready
		}
		if open == 0 {
			if skipped == len(task.Needs) {
				return dag.Skipped
			}
			return dag.UpstreamFailed
		}
	case dag.OneFailed:
		if failed > 0 {
			return dag.Ready
		}
		if open == 0 {
			return dag.Skipped
		}
	case dag.AllDone, dag.Always:
		if open == 0 {
			return dag.Ready
		}
	case dag.NoneFailed:
		if failed > 0 {
			return dag.UpstreamFailed
		}
		if open == 0 {
			return dag.Ready
		}
	default:
		if failed > 0 {
			return dag.UpstreamFailed
		}
		if open == 0 && skipped > 0 {
			return dag.Skipped
		}
		if open == 0 {
			return dag.Ready
		}
	}
	return dag.Waiting
}

// drawTasks makes a sound DAG whose tasks are not in the order in which they run.
func drawTasks(r *rapid.T) []dag.Task {
	count := rapid.IntRange(1, 12).Draw(r, "tasks")
	place := rapid.Permutation(numbersTo(count)).Draw(r, "order")
	list := make([]dag.Task, count)
	for i, at := range place {
		task := dag.Task{Name: fmt.Sprintf("t%d", at)}
		for _, before := range place[:i] {
			if rapid.IntRange(0, 3).Draw(r, "edge") == 0 {
				task.Needs = append(task.Needs, fmt.Sprintf("t%d", before))
			}
		}
		if len(task.Needs) > 0 {
			task.Trigger = rapid.SampledFrom(append(dag.Triggers(), "")).Draw(r, "rule")
		}
		list[at] = task
	}
	return list
}

func numbersTo(count int) []int {
	list := make([]int, count)
	for i := range list {
		list[i] = i
	}
	return list
}

func TestWavesDoAsTheModelDoes(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		list := drawTasks(r)
		graph, err := dag.New(list)
		if err != nil {
			r.Fatal(err)
		}
		wave := graph.NewWave()
		m := &model{tasks: list, released: make([]bool, len(list)), taken: make([]bool, len(list)), ended: map[string]dag.State{}}
		for step := 0; ; step++ {
			before := m.states()
			var closed []int
			if step < 60 {
				closed = drawStep(r, m, graph, wave, before)
			} else if closed = finishOne(m, wave); step > 100 {
				r.Fatalf("the wave does not end: %s", stateWords(wave))
			}
			after := m.states()
			compare(r, graph, wave, m, before, after, closed)
			if wave.Done() {
				break
			}
		}
		if want := m.result(); wave.Result() != want {
			r.Fatalf("result is %v, want %v: %s", wave.Result(), want, stateWords(wave))
		}
	})
}

// drawStep does the same to both, and returns what the wave says that it closed.
func drawStep(r *rapid.T, m *model, graph *dag.Graph, wave *dag.Wave, before []dag.State) (closed []int) {
	pick := rapid.IntRange(0, 24).Draw(r, "step")
	switch {
	case pick == 0 && !m.cancelled:
		m.cancelled = true
		for i, state := range before {
			if (state == dag.Waiting || state == dag.Ready) && m.tasks[i].Trigger != dag.Always {
				m.ended[m.tasks[i].Name] = dag.Cancelled
			}
		}
		return wave.Cancel()
	case pick < 8:
		task, ok := wave.Take()
		if !ok {
			if slices.Contains(before, dag.Ready) {
				r.Fatalf("nothing can be taken: %s", stateWords(wave))
			}
			for i := range m.tasks {
				if wave.Release(i) {
					m.released[i] = true
					break
				}
			}
			return nil
		}
		if before[task] != dag.Ready {
			r.Fatalf("took %s, which is %s", graph.Name(task), before[task])
		}
		m.taken[task] = true
		return nil
	default:
		task := rapid.IntRange(0, len(m.tasks)-1).Draw(r, "task")
		state := rapid.SampledFrom([]dag.State{dag.Succeeded, dag.Succeeded, dag.Failed, dag.Skipped, dag.Cancelled}).Draw(r, "end")
		var changed bool
		if pick == 8 {
			closed, changed = wave.Mark(task, state)
		} else {
			closed, changed = wave.End(task, state)
		}
		want := before[task] == dag.Ready || before[task] == dag.Running || pick == 8 && before[task] == dag.Waiting
		if changed != want {
			r.Fatalf("end of %s, which is %s: changed is %v", graph.Name(task), before[task], changed)
		}
		if changed {
			m.ended[m.tasks[task].Name] = state
			closed = append(closed, task)
			slices.Sort(closed)
		}
		return closed
	}
}

// finishOne brings a wave nearer to its end: it ends the first task that can end.
func finishOne(m *model, wave *dag.Wave) []int {
	for i, task := range m.tasks {
		if wave.Release(i) {
			m.released[i] = true
		}
		if closed, changed := wave.End(i, dag.Succeeded); changed {
			m.ended[task.Name] = dag.Succeeded
			closed = append(closed, i)
			slices.Sort(closed)
			return closed
		}
	}
	return nil
}

func compare(r *rapid.T, graph *dag.Graph, wave *dag.Wave, m *model, before, after []dag.State, closed []int) {
	if diff := cmp.Diff(after, wave.States()); diff != "" {
		r.Fatalf("states differ from the model's (-want +got):\n%s", diff)
	}
	var want []int
	for i := range after {
		if before[i] != after[i] && after[i].Ended() {
			want = append(want, i)
		}
		if before[i] != after[i] && !before[i].Next(after[i]) {
			r.Fatalf("%s went from %s to %s", m.tasks[i].Name, before[i], after[i])
		}
	}
	if !slices.Equal(want, closed) {
		r.Fatalf("closed tasks are %v, want %v", closed, want)
	}
	counts := map[dag.State]int{}
	for _, state := range after {
		counts[state]++
	}
	for state, count := range counts {
		if wave.Count(state) != count {
			r.Fatalf("%d tasks are said to be %s, want %d", wave.Count(state), state, count)
		}
	}
	compareRestored(r, graph, m, after)
}

// compareRestored gives Restore no more than what runs and commands left behind.
func compareRestored(r *rapid.T, graph *dag.Graph, m *model, after []dag.State) {
	left := make([]dag.State, len(after))
	var closed []int
	for i, state := range after {
		left[i] = state
		_, explicit := m.ended[m.tasks[i].Name]
		if len(m.tasks[i].Needs) > 0 && !explicit && state != dag.Running {
			left[i] = dag.Waiting
			if state.Ended() {
				closed = append(closed, i)
			}
		}
	}
	restored, again, err := graph.Restore(left)
	if err != nil {
		r.Fatal(err)
	}
	if diff := cmp.Diff(after, restored.States()); diff != "" {
		r.Fatalf("the restored wave differs (-want +got):\n%s", diff)
	}
	if !slices.Equal(closed, again) {
		r.Fatalf("Restore closed %v, want %v", again, closed)
	}
	for range after {
		if task, ok := restored.Take(); ok && after[task] != dag.Ready {
			r.Fatalf("the restored wave gives out %s, which is %s", m.tasks[task].Name, after[task])
		} else if ok {
			after[task] = dag.Running
		}
	}
	if slices.Contains(after, dag.Ready) {
		r.Fatal("the restored wave does not give out all that is ready")
	}
}

func (m *model) result() dag.Result {
	states := m.states()
	switch {
	case m.cancelled:
		return dag.WaveCancelled
	case slices.Contains(states, dag.Failed):
		return dag.WaveFailed
	case slices.Contains(states, dag.Cancelled):
		return dag.WaveCancelled
	default:
		return dag.WaveSucceeded
	}
}

// A resumed wave in which nothing fails any more ends well, and runs no task twice that succeeded.
func TestResumedWavesEndWell(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		graph, err := dag.New(drawTasks(r))
		if err != nil {
			r.Fatal(err)
		}
		wave := graph.NewWave()
		wave.ReleaseAll()
		for task, ok := wave.Take(); ok; task, ok = wave.Take() {
			wave.End(task, rapid.SampledFrom([]dag.State{dag.Succeeded, dag.Succeeded, dag.Failed}).Draw(r, "end"))
			if rapid.IntRange(0, 19).Draw(r, "cancel") == 0 {
				wave.Cancel()
			}
		}
		if !wave.Done() {
			r.Fatalf("nothing is ready in %s", stateWords(wave))
		}
		before := wave.States()
		reset := wave.Resume()
		for task, state := range before {
			if again := slices.Contains(reset, task); again && state == dag.Succeeded || !again && (state == dag.Failed || state == dag.Cancelled && graph.Root(task)) {
				r.Fatalf("%s was %s; put back is %v", graph.Name(task), state, again)
			}
		}
		for task, ok := wave.Take(); ok; task, ok = wave.Take() {
			if !slices.Contains(reset, task) {
				r.Fatalf("%s runs again, but was not put back", graph.Name(task))
			}
			wave.End(task, dag.Succeeded)
		}
		if wave.Result() != dag.WaveSucceeded {
			r.Fatalf("result %v after Resume: %s", wave.Result(), stateWords(wave))
		}
	})
}
