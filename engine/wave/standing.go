package wave

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/dag/condition"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Standing derives from a wave's runs how far its tasks have come, as the engine does after a crash. Pages and the API
// show it; it changes nothing, and is not safe for concurrent use.
type Standing struct {
	wave *Wave
	past *past
	// read are the tasks whose outputs a for_each is made from: of others, outputs are not kept.
	read map[string]bool
}

// Items counts the items of a mapped task that has begun.
type Items struct {
	Total     int
	Waiting   int
	Running   int // those that wait for their next attempt are among them
	Succeeded int
	Failed    int
	Cancelled int
	Skipped   int
}

// NewStanding begins with a wave of which no run is known. definition is that of the wave's generation. The error says
// that its tasks are no graph; such a definition cannot be saved.
func NewStanding(given *engine.Wave, definition *spec.DAG) (*Standing, error) {
	d := NewDefinition(given.Generation, definition)
	if d.Graph == nil {
		_, err := definition.Graph()
		return nil, fmt.Errorf("derive wave %s: %w", given.ID, err)
	}
	s := &Standing{wave: &Wave{Wave: *given}, past: newPast(), read: map[string]bool{}}
	s.wave.Begin(d)
	for i := range definition.Tasks {
		if definition.Tasks[i].ForEach == "" {
			continue
		}
		if list, err := condition.CompileList(definition.Tasks[i].ForEach); err == nil {
			for _, name := range list.Tasks() {
				s.read[name] = true
			}
		}
	}
	return s, nil
}

// Graph is that of the tasks, whose indexes are those of the definition.
func (s *Standing) Graph() *dag.Graph { return s.wave.Definition.Graph }

// Add takes a run of the wave. Nothing of it is kept but what the states are made from.
func (s *Standing) Add(r *engine.Run) {
	kept := engine.Run{
		ID: r.ID, Task: r.Task, Item: r.Item, Status: r.Status, Upstream: r.Upstream, Slot: r.Slot, Trigger: r.Trigger,
		Attempt: r.Attempt, CancelBy: r.CancelBy,
	}
	if s.read[r.Task] {
		kept.Outputs = r.Outputs
	}
	s.wave.learn(s.past, &kept)
}

// States returns the state of each task, in the order of the definition. It is called once, after the last Add.
func (s *Standing) States() []dag.State {
	w := s.wave
	w.derive(s.past)
	if w.State == nil {
		return make([]dag.State, w.Definition.Graph.Len())
	}
	if w.Status == engine.StatusScheduled { // what goes at once will go when it opens
		states := w.State.States()
		for task, state := range states {
			if state == dag.Ready {
				states[task] = dag.Waiting
			}
		}
		return states
	}
	return w.State.States()
}

// Items counts the items of a mapped task, after States; false for a task that is not mapped, or has not begun.
func (s *Standing) Items(task int) (Items, bool) {
	f := s.wave.fans[task]
	if f == nil {
		return Items{}, false
	}
	return Items{
		Total: f.Len(), Waiting: f.Count(dag.Ready), Running: f.Count(dag.Running), Succeeded: f.Count(dag.Succeeded),
		Failed: f.Count(dag.Failed), Cancelled: f.Count(dag.Cancelled), Skipped: f.Count(dag.Skipped),
	}, true
}

// Why returns why a task was closed by its rule, or is about to be; "" for one that was not.
func (s *Standing) Why(task int) string {
	switch s.wave.State.State(task) {
	case dag.Skipped, dag.UpstreamFailed, dag.Cancelled:
		return s.wave.Why(task)
	default:
		return ""
	}
}

// past is what the runs of a wave say, one after the other.
type past struct {
	states map[int]dag.State // of tasks that have a run of their own
	items  map[int][]itemState
}

func newPast() *past { return &past{states: map[int]dag.State{}, items: map[int][]itemState{}} }

// learn takes in what one run says. r is the caller's to change afterwards, but for its outputs.
func (w *Wave) learn(p *past, r *engine.Run) {
	graph := w.Definition.Graph
	task, ok := graph.Index(r.Task)
	if !ok {
		return
	}
	if r.Status == engine.StatusSucceeded {
		w.keepResult(r)
	}
	if graph.Root(task) && !r.Slot.IsZero() && (r.Status != engine.StatusScheduled || w.Resumed > 0) {
		w.slots[r.Task], w.causes[r.Task] = r.Slot, r.Trigger
	}
	state := StateOf(r.Status)
	if r.Item != nil {
		p.items[task] = append(p.items[task], itemState{*r.Item, state, r.CancelBy})
		return
	}
	switch {
	case state == dag.Skipped && r.Upstream:
		state = dag.UpstreamFailed
	case state == dag.Waiting && graph.Root(task) && w.atOnce():
		state = dag.Ready
	}
	p.states[task] = state
}

// derive brings the wave to what its runs say.
func (w *Wave) derive(p *past) {
	graph := w.Definition.Graph
	states := make([]dag.State, graph.Len())
	for task := range states {
		known, has := p.states[task]
		switch {
		case len(p.items[task]) > 0 && !known.Ended(): // what has not ended was made before the items
			states[task], has = dag.Running, false
		case has:
			states[task] = known
		case graph.Root(task) && w.atOnce():
			states[task] = dag.Ready
		default:
			states[task] = dag.Waiting
		}
		if has && known == dag.Running {
			w.running++
		}
	}
	w.hold(p, states)
	state, _, err := graph.Restore(states)
	if err != nil { // the states above are all valid, and as many as the tasks
		return
	}
	w.State = state
	if w.CancelBy != "" {
		w.State.Cancel()
	}
	for task := range states {
		if len(p.items[task]) > 0 && states[task] == dag.Running {
			w.deriveFan(task, p.items[task])
		}
	}
}

// hold puts back the mapped tasks of a resumed wave which are to be run again and have not begun: of these every
// item has ended or is to be run again, or the task has a run of its own that says so. They wait for what they need.
func (w *Wave) hold(p *past, states []dag.State) {
	if w.Resumed == 0 {
		return
	}
	begun := func(k itemState) bool { return k.state == dag.Running }
	again := func(k itemState) bool { return k.state == dag.Waiting }
	for task := range states {
		known := p.items[task]
		_, single := p.states[task]
		if states[task] != dag.Running || len(known) == 0 || slices.ContainsFunc(known, begun) || !single && !slices.ContainsFunc(known, again) {
			continue
		}
		states[task] = dag.Waiting
		if w.Definition.Graph.Root(task) {
			states[task] = dag.Ready
		}
	}
}

// deriveFan derives a mapped task from the runs of its items. Its list is evaluated again. In a resumed wave, the task
// that left the list may be run again, so that there is no list: then it has no items but those that have ended. One that stayed as it
// was has as many as then.
func (w *Wave) deriveFan(task int, known []itemState) {
	list, _ := w.items(task)
	if items, kept := w.Kept[w.Name(task)]; kept {
		list = make([]json.RawMessage, items)
	}
	f, err := newFan(list, known, w.Definition.Spec.Tasks[task].MaxParallel)
	if err != nil {
		return
	}
	w.fans[task] = f
	for _, k := range known {
		if k.state == dag.Running && k.item < len(list) {
			f.Started(k.item)
			w.running++
		}
	}
	ran := func(k itemState) bool { return k.by != "" && k.by == w.CancelBy }
	if w.State.Cancelled() && (w.Definition.Graph.Trigger(task) != dag.Always || slices.ContainsFunc(known, ran)) {
		f.Stop() // what always runs may have begun after the wave was cancelled: then it was not stopped
	}
	switch {
	case f.Done():
		w.State.Mark(task, f.Outcome())
	case f.Count(dag.Ready) > 0:
		w.active = append(w.active, task)
	}
}
