package sim

import (
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
)

// request is a command to resume what has ended, or to let a task of a wave count as a user says. It counts from the commit that
// acts on it, and only if what it is about is as the user has seen it.
type request struct {
	engine.Command
	open bool // the wave of a mark was, when it was acted upon
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
		if wave == nil {
			continue
		}
		if wave.Status.Terminal() && wave.Revision == r.Revision {
			t.granted[wave.ID] = append(t.granted[wave.ID], r)
		}
		if r.Kind == engine.CommandMarkTask {
			r.open = !wave.Status.Terminal()
			t.marking = append(t.marking, r)
		}
	}
	for i := range batch.Waves {
		if known := t.waves[batch.Waves[i].ID]; known != nil && batch.Waves[i].Resumed > known.Resumed {
			t.reopens(known)
		}
	}
	for i := range batch.Runs {
		if run := &batch.Runs[i]; t.marks(run) {
			t.waves[run.Wave].marks[run.Task] = stateOf(&shadow{status: run.Status, upstream: run.Upstream})
		}
	}
}

// marks reports whether the batch lets a task count as a user has asked: then its run says so. A mark of what is under way, or has
// ended in a wave that is open, changes nothing.
func (t *truth) marks(run *engine.Run) bool {
	return slices.ContainsFunc(t.marking, func(r *request) bool {
		return r.RunID == run.Wave && r.Task == run.Task && r.Mark == run.Status && strings.HasPrefix(run.Reason, "marked as ")
	})
}

// reopens remembers, as a wave is resumed after its end, which of its tasks stay as they are. A task that a user has cleared is run again,
// and what comes after it unless it is cleared alone. Without one, what failed or was cancelled is run again, and what was skipped after
// it or after what is marked now. Of several requests to resume a wave one counts.
func (t *truth) reopens(wave *waveShadow) {
	form := t.w.users.dagByUID[wave.DAGUID].forms[wave.Generation]
	again, marks := make([]bool, form.graph.Len()), map[string]dag.State{}
	first := &request{} // it is the one that resumes the wave
	if granted := t.granted[wave.ID]; len(granted) > 0 {
		first = granted[0]
	}
	clears := first.Kind == engine.CommandClearTask
	wave.kept, wave.rerunnable, wave.attempts = map[string]dag.State{}, map[string]bool{}, map[string]int{}
	for task := range form.graph.Len() { // a task needs those before it only
		name := form.graph.Name(task)
		state, _ := t.outcome(wave.ID, name)
		after := false
		for need := range form.graph.Needs(task) {
			after = after || again[need]
		}
		switch {
		case clears:
			again[task] = first.Task == name || after && !first.Alone
		case state == dag.Skipped:
			again[task] = after || first.Kind == engine.CommandMarkTask && first.Task == name
		default:
			again[task] = state != dag.Succeeded
		}
		if again[task] {
			continue
		}
		wave.kept[name] = state
		if as, known := wave.marks[name]; known {
			marks[name] = as
		}
	}
	wave.marks = marks
	for _, id := range t.runsOf[wave.ID] {
		run := t.stored[id]
		if run == nil || !run.status.Terminal() {
			continue
		}
		wave.attempts[id] = run.attempt
		task, known := form.graph.Index(run.task)
		other := clears && first.Task == run.task && first.Item != nil && run.item >= 0 && run.item != *first.Item && run.status != engine.StatusSkipped
		wave.rerunnable[id] = known && again[task] && !other && (clears || run.status != engine.StatusSucceeded)
	}
}

// mayRerun reports whether a resumed wave may run an ended run again, once.
func (t *truth) mayRerun(run *engine.Run) bool {
	wave := t.waves[run.Wave]
	if wave == nil || !wave.rerunnable[run.ID] {
		return false
	}
	delete(wave.rerunnable, run.ID)
	return true
}

// markedAll checks that no task still waits of an open wave in which the batch has acted on a mark of it.
func (t *truth) markedAll() {
	for _, r := range t.marking {
		if wave := t.waves[r.RunID]; r.open && wave.Status == engine.StatusRunning && wave.CancelBy == "" && t.stillWaits(wave, r.Task) {
			t.w.fail("a mark is acted on", "task %s of wave %s still waits, and was marked as %s", r.Task, wave.ID, r.Mark)
		}
	}
	t.marking = nil
}

// stillWaits reports whether a task of an open wave has not begun, and is not mapped: of a mapped one nothing reports whether it has.
func (t *truth) stillWaits(wave *waveShadow, name string) bool {
	form := t.w.users.dagByUID[wave.DAGUID].forms[wave.Generation]
	task, known := form.graph.Index(name)
	if !known || form.spec.Tasks[task].ForEach != "" {
		return false
	}
	run := t.stored[engine.TaskRunID(wave.ID, name)]
	return run == nil || run.status == engine.StatusScheduled
}
