package sim

import (
	"slices"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
)

// request is a command to go on with what has ended, or to let a task of a wave count as a user says. It counts from the commit that
// acts on it, and only if what it is about is as the user has seen it.
type request struct {
	engine.Command
	before *shadow // of the task's run, nil for none, when a mark of an open wave is acted on
}

// grants finds which requests a batch acts on, before it is written.
func (t *truth) grants(batch *engine.Batch) {
	t.granted = map[string][]*request{}
	for i := range batch.Done {
		r := t.asked[batch.Done[i].ID]
		if r == nil {
			continue
		}
		delete(t.asked, r.ID)
		if r.Kind == engine.CommandRetry {
			if known := t.stored[r.RunID]; known != nil && known.revision == r.Revision {
				t.granted[r.RunID] = append(t.granted[r.RunID], r)
			}
			continue
		}
		wave := t.waves[r.RunID]
		switch {
		case wave == nil:
		case !wave.Status.Terminal():
			t.marks(wave, r)
		case wave.Revision == r.Revision:
			t.granted[wave.ID] = append(t.granted[wave.ID], r)
		}
	}
	for i := range batch.Waves {
		if known := t.waves[batch.Waves[i].ID]; known != nil && batch.Waves[i].Resumed > known.Resumed {
			t.reopens(known, batch)
		}
	}
}

// marks remembers what a mark of an open wave finds.
func (t *truth) marks(wave *waveShadow, r *request) {
	if r.Kind != engine.CommandMarkTask {
		return
	}
	if known := t.stored[engine.TaskRunID(wave.ID, r.Task)]; known != nil {
		before := *known
		r.before = &before
	}
	t.marking = append(t.marking, r)
}

// reopens remembers, as a wave goes on after its end, which of its tasks stay as they are: what had succeeded, and what users have said of
// tasks that are not run again. What failed or was cancelled is run again, and what was skipped after it or after what is marked now.
// Of several requests to go on with a wave one counts.
func (t *truth) reopens(wave *waveShadow, batch *engine.Batch) {
	form := t.w.users.dagByUID[wave.DAGUID].forms[wave.Generation]
	again, marked, marks := make([]bool, form.graph.Len()), make([]bool, form.graph.Len()), map[string]dag.State{}
	wave.kept, wave.again = map[string]bool{}, map[string]bool{}
	for task := range form.graph.Len() { // a task needs those before it only
		name := form.graph.Name(task)
		state, _ := t.outcome(wave.ID, name)
		switch state {
		case dag.Failed, dag.Cancelled, dag.UpstreamFailed:
			again[task] = true
		case dag.Skipped:
			for need := range form.graph.Needs(task) {
				again[task] = again[task] || again[need] || marked[need]
			}
		default:
			wave.kept[name] = state == dag.Succeeded
		}
		for _, r := range t.granted[wave.ID] {
			id := engine.TaskRunID(wave.ID, name)
			if r.Kind == engine.CommandMarkTask && r.Task == name && slices.ContainsFunc(batch.Runs, func(run engine.Run) bool {
				return run.ID == id && run.Status == r.Mark && !run.Upstream
			}) {
				again[task], marked[task] = false, true // how it counts is remembered once it is written
			}
		}
		wave.again[name] = again[task] // of a mapped one the items go on once its list is made anew
		if as, marked := wave.marks[name]; marked && !again[task] {
			marks[name] = as
		}
	}
	wave.marks = marks
}

// marked remembers which of the marks that a batch acts on count. It is asked once the runs are written, before the waves are, which may
// end by them.
func (t *truth) marked() {
	for id, requests := range t.granted { // in any order: each wave has its own
		wave := t.waves[id]
		for _, r := range requests {
			run := t.stored[engine.TaskRunID(id, r.Task)]
			if r.Kind == engine.CommandMarkTask && wave != nil && run != nil && run.status == r.Mark && !run.upstream {
				wave.marks[r.Task] = stateOf(run)
			}
		}
	}
	for _, r := range t.marking {
		run := t.stored[engine.TaskRunID(r.RunID, r.Task)]
		begun := run != nil && run.attempt > 0 && (r.before == nil || run.attempt > r.before.attempt)
		waited := r.before == nil || r.before.status == engine.StatusScheduled // what is under way or has ended takes no mark
		if run != nil && !begun && waited && run.status == r.Mark && !run.upstream {
			t.waves[r.RunID].marks[r.Task] = stateOf(run)
		}
	}
}

// markedAll checks that no task still waits of an open wave in which the batch has acted on a mark of it.
func (t *truth) markedAll() {
	for _, r := range t.marking {
		if wave := t.waves[r.RunID]; wave.Status == engine.StatusRunning && wave.CancelBy == "" && t.stillWaits(wave, r.Task) {
			t.w.fail("a mark is acted on", "task %s of wave %s still waits, and was marked as %s", r.Task, wave.ID, r.Mark)
		}
	}
	t.marking = nil
}

// stillWaits reports whether a task of an open wave has not begun, and is not mapped: of a mapped one nothing says whether it has.
func (t *truth) stillWaits(wave *waveShadow, name string) bool {
	form := t.w.users.dagByUID[wave.DAGUID].forms[wave.Generation]
	task, known := form.graph.Index(name)
	if !known || form.spec.Tasks[task].ForEach != "" {
		return false
	}
	run := t.stored[engine.TaskRunID(wave.ID, name)]
	return run == nil || run.status == engine.StatusScheduled
}
