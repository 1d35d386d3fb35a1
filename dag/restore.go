package dag

import (
	"fmt"
	"slices"
)

// Restore is the wave in which the tasks have these states, one for each task.
// It applies the rules to the tasks that wait, and returns those that they
// close, in order. It keeps every other state, also one that the rules would
// not have led to, as a user may have marked a task. It fails if the number of
// states is not that of the tasks, or one is invalid.
//
// Whether the wave was cancelled is not among the states: call Cancel again.
// states is not kept.
func (g *Graph) Restore(states []State) (wave *Wave, closed []int, err error) {
	if len(states) != g.Len() {
		return nil, nil, fmt.Errorf("dag: restore a wave: %d states for %d tasks", len(states), g.Len())
	}
	w := g.emptyWave()
	for task, state := range states {
		if !state.Valid() {
			return nil, nil, fmt.Errorf("dag: restore a wave: task %s has the state %s", g.names[task], state)
		}
		w.set(task, state)
	}
	return w, w.settle(), nil
}

// settle recounts how the needs of every task ended, and applies the rules to
// all that wait. Its cost is linear.
func (w *Wave) settle() (closed []int) {
	for task := range w.tallies {
		w.tallies[task] = tally{needs: w.tallies[task].needs}
	}
	// In this order every need is settled before its dependants.
	for _, number := range w.graph.order {
		task := int(number)
		if !w.graph.Root(task) && w.judge(task) {
			closed = append(closed, task)
		}
		for _, dependant := range w.graph.dependants[task] {
			w.tallies[dependant].add(outcomes[w.states[task]], 1)
		}
	}
	slices.Sort(closed)
	return closed
}

// Resume resumes a wave that has failed or was cancelled: every task that
// failed, was cancelled or closed by its rule because of that is put back, and
// so is a skipped one that comes after such a task, or after one of changed,
// which had ended otherwise until now, as it may be decided again.
// All that succeeded stays. Roots among them are ready at once. reset are the
// tasks that will be run or decided again, in order, the caller owns the slice.
//
// A task that was put back may be closed again right away, by a need that stays
// as it is; then it is not in reset.
func (w *Wave) Resume(changed ...int) (reset []int) {
	back := make([]bool, len(w.states))
	for _, number := range w.graph.order {
		task := int(number)
		switch w.states[task] {
		case Failed, Cancelled, UpstreamFailed:
			back[task] = true
		case Skipped:
			for _, need := range w.graph.needs[task] {
				back[task] = back[task] || back[need] || slices.Contains(changed, int(need))
			}
		default:
		}
	}
	return w.putBack(back)
}

// Clear resumes a wave that has ended: these tasks are run or decided
// again, however they have ended, and all others stay. reset is as of Resume.
func (w *Wave) Clear(tasks ...int) (reset []int) {
	back := make([]bool, len(w.states))
	for _, task := range tasks {
		back[task] = true
	}
	return w.putBack(back)
}

// putBack lets tasks wait again, and applies the rules to them. Roots are ready
// at once. It returns those whose state is another now.
func (w *Wave) putBack(back []bool) (reset []int) {
	w.cancelled = false
	before := w.States()
	for task := range w.states {
		if back[task] {
			w.set(task, Waiting)
		}
	}
	w.settle()
	for task := range w.states {
		if !back[task] {
			continue
		}
		w.Release(task)
		if w.states[task] != before[task] {
			reset = append(reset, task)
		}
	}
	return reset
}
