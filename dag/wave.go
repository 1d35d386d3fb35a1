package dag

import "slices"

// Wave is one pass through a graph: the state of every task, and which may run.
// It is not safe for concurrent use.
type Wave struct {
	graph     *Graph
	states    []State
	tallies   []tally
	counts    [stateCount]int
	queue     []int32 // tasks that became ready, in that order; some may have ended since
	head      int     // of queue
	cancelled bool
}

// Result is how a wave stands. The zero value is invalid.
type Result uint8

// The results of a wave.
const (
	// Unfinished: some task has not ended.
	Unfinished Result = iota + 1
	// WaveSucceeded: no task failed. Skipped ones do no harm.
	WaveSucceeded
	// WaveFailed: some task failed, whatever its dependants made of it.
	WaveFailed
	// WaveCancelled: the wave was cancelled, or a task of it was and none failed.
	WaveCancelled
)

// NewWave is a wave in which every task waits.
func (g *Graph) NewWave() *Wave {
	w := g.emptyWave()
	for task := range w.states {
		w.states[task] = Waiting
	}
	w.counts[Waiting] = g.Len()
	return w
}

func (g *Graph) emptyWave() *Wave {
	w := &Wave{graph: g, states: make([]State, g.Len()), tallies: make([]tally, g.Len())}
	for task := range w.tallies {
		w.tallies[task].needs = int32(len(g.needs[task]))
	}
	return w
}

// Graph is the graph that the wave passes through.
func (w *Wave) Graph() *Graph { return w.graph }

// State is the state of a task.
func (w *Wave) State(task int) State { return w.states[task] }

// States is the state of every task, as Restore takes them. The caller owns the slice.
func (w *Wave) States() []State { return slices.Clone(w.states) }

// Count is how many tasks are in a state.
func (w *Wave) Count(state State) int { return w.counts[state] }

// Done reports whether every task has ended.
func (w *Wave) Done() bool { return w.counts[Waiting]+w.counts[Ready]+w.counts[Running] == 0 }

// Result is how the wave stands.
func (w *Wave) Result() Result {
	switch {
	case !w.Done():
		return Unfinished
	case w.cancelled:
		return WaveCancelled
	case w.counts[Failed] > 0:
		return WaveFailed
	case w.counts[Cancelled] > 0:
		return WaveCancelled
	case w.counts[UpstreamFailed] > 0:
		return WaveFailed // a user marked it so
	default:
		return WaveSucceeded
	}
}

// Release lets a root start: its slot has come. It reports whether that changed
// anything: a task with needs, and one that is not Waiting, stay as they are.
func (w *Wave) Release(root int) bool {
	if !w.graph.Root(root) || w.states[root] != Waiting {
		return false
	}
	w.set(root, Ready)
	return true
}

// ReleaseAll releases every root that waits, for a wave that was started manually.
func (w *Wave) ReleaseAll() {
	for _, root := range w.graph.roots {
		w.Release(root)
	}
}

// Take gives out the task that has been ready for longest, which is Running
// then; ok is false when none is ready.
func (w *Wave) Take() (task int, ok bool) {
	for w.head < len(w.queue) {
		task := int(w.queue[w.head])
		w.head++
		if w.states[task] == Ready {
			w.set(task, Running)
			return task, true
		}
	}
	w.queue, w.head = w.queue[:0], 0
	return 0, false
}

// End records how a task ended that was Ready or Running: state is Succeeded,
// Failed, Cancelled or Skipped. It returns the tasks that were closed by their
// rules because of it, in order; the caller owns the slice. changed is false,
// and nothing else is done, where the task was not under way or state is none of
// these, so a report that comes twice does no harm.
func (w *Wave) End(task int, state State) (closed []int, changed bool) {
	if w.states[task] != Ready && w.states[task] != Running {
		return nil, false
	}
	return w.Mark(task, state)
}

// Mark is End for any task that has not ended, also one that waits: a user
// has set its result.
func (w *Wave) Mark(task int, state State) (closed []int, changed bool) {
	if !state.Ended() || state == UpstreamFailed || !w.states[task].Next(state) {
		return nil, false
	}
	w.set(task, state)
	return w.spread([]int32{int32(task)}), true
}

// Cancel stops the wave: every task that is not Running ends as Cancelled, but
// for those with the rule Always, which still run when all they need has ended.
// It returns the tasks that it closed, in order; the caller owns the slice.
func (w *Wave) Cancel() (closed []int) {
	w.cancelled = true
	var ended []int32
	for task, state := range w.states {
		if (state == Waiting || state == Ready) && w.graph.triggers[task] != Always {
			w.set(task, Cancelled)
			ended = append(ended, int32(task))
			closed = append(closed, task)
		}
	}
	// All others are Running or Always, and none of these is closed by a rule.
	w.spread(ended)
	return closed
}

// Cancelled reports whether Cancel was called.
func (w *Wave) Cancelled() bool { return w.cancelled }

// spread updates the dependants of tasks that have just ended, and is resumed with
// those that it closes.
func (w *Wave) spread(ended []int32) (closed []int) {
	for len(ended) > 0 {
		task := ended[0]
		ended = ended[1:]
		how := outcomes[w.states[task]]
		for _, dependant := range w.graph.dependants[task] {
			w.tallies[dependant].add(how, 1)
			if w.judge(int(dependant)) {
				ended = append(ended, dependant)
				closed = append(closed, int(dependant))
			}
		}
	}
	slices.Sort(closed)
	return closed
}

// judge applies the rule of a task that waits, and reports whether it closed it.
func (w *Wave) judge(task int) bool {
	if w.states[task] != Waiting {
		return false
	}
	decided := w.graph.triggers[task].decide(w.tallies[task])
	if decided == Waiting {
		return false
	}
	w.set(task, decided)
	return decided != Ready
}

func (w *Wave) set(task int, state State) {
	if old := w.states[task]; old != 0 {
		w.counts[old]--
	}
	w.states[task] = state
	w.counts[state]++
	if state == Ready {
		w.queue = append(w.queue, int32(task))
	}
}
