package sim

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
)

// The slow model of a wave: what happens to a task, derived from how those before it ended, one after the other.

// tally counts how the needs of a task ended.
type tally struct{ all, good, bad, skipped int }

func (t *truth) tally(wave string, form *dagForm, task int) tally {
	var n tally
	for need := range form.graph.Needs(task) {
		n.all++
		switch state, _ := t.outcome(wave, form.graph.Name(need)); state {
		case dag.Succeeded:
			n.good++
		case dag.Failed, dag.Cancelled, dag.UpstreamFailed:
			n.bad++
		case dag.Skipped:
			n.skipped++
		case dag.Waiting, dag.Ready, dag.Running:
		}
	}
	return n
}

// rule returns the result of a task's trigger rule: dag.Waiting while that is open.
func (n tally) rule(trigger dag.Trigger) dag.State {
	ended := n.good+n.bad+n.skipped == n.all
	switch trigger {
	case dag.OneSuccess:
		switch {
		case n.good > 0:
			return dag.Ready
		case ended && n.bad > 0:
			return dag.UpstreamFailed
		case ended:
			return dag.Skipped
		}
	case dag.OneFailed:
		switch {
		case n.bad > 0:
			return dag.Ready
		case ended:
			return dag.Skipped
		}
	case dag.AllDone, dag.Always:
		if ended {
			return dag.Ready
		}
	case dag.NoneFailed:
		switch {
		case n.bad > 0:
			return dag.UpstreamFailed
		case ended:
			return dag.Ready
		}
	default:
		switch {
		case n.bad > 0:
			return dag.UpstreamFailed
		case ended && n.skipped > 0:
			return dag.Skipped
		case ended:
			return dag.Ready
		}
	}
	return dag.Waiting
}

// asTheModelSays holds every task of a wave that has ended to the model.
func (w *world) asTheModelSays(wave *waveShadow, form *dagForm) {
	for task := range form.graph.Len() {
		name, t := form.graph.Name(task), &form.spec.Tasks[task]
		state, items := w.truth.outcome(wave.ID, name)
		if state == wave.kept[name] { // or it has no run
			continue
		}
		wrong := func(want string) {
			w.fail("a wave goes as the model says", "wave %s: task %s is %s with %d items, and the model says %s", wave.ID, name, state, items, want)
		}
		if as, marked := wave.marks[name]; marked {
			if state != as {
				wrong("that a user has made it " + as.String())
			}
			continue
		}
		if state == dag.Cancelled {
			continue // its run was cancelled, or what was left of its DAG
		}
		if !form.graph.Root(task) {
			switch rule := w.truth.tally(wave.ID, form, task).rule(t.Trigger); rule {
			case dag.Skipped, dag.UpstreamFailed:
				if state != rule {
					wrong(rule.String())
				}
				continue
			case dag.Ready:
			default:
				wrong("that it cannot have ended")
				continue
			}
		} else if state == dag.Skipped && !w.truth.attempted(wave.ID, name, nil) {
			continue // it has had no slot
		}
		early := t.Trigger == dag.OneSuccess || t.Trigger == dag.OneFailed
		unlisted := t.ForEach != "" && items == 0 // items of it may have run before the wave was resumed
		if early && state == dag.Failed && (unlisted || !w.truth.attempted(wave.ID, name, wave.attempts)) {
			continue // what it reads had not ended when it was its turn
		}
		switch met, known := w.condition(wave, t.When); {
		case !known && state != dag.Failed:
			wrong("that its condition cannot be evaluated")
			continue
		case !known:
			continue
		case !met:
			if state != dag.Skipped {
				wrong("that its condition is not met")
			}
			continue
		}
		count, known := w.list(wave, t.ForEach)
		switch {
		case t.ForEach == "":
			if items > 0 || state == dag.Skipped || state == dag.UpstreamFailed {
				wrong("that it was executed")
			}
		case !known:
			if state != dag.Failed || items > 0 {
				wrong("that its list cannot be evaluated")
			}
		case count == 0:
			if state != dag.Skipped || items > 0 {
				wrong("that its list is empty")
			}
		case w.truth.listed(wave, name, count) != count:
			wrong(fmt.Sprintf("%d items", count))
		}
	}
}

// listed counts the items of a mapped task that its list has. Others are of the time before its wave was resumed, and stay if they were
// not to be run again; it counts none where one did not stay, or is not skipped.
func (t *truth) listed(wave *waveShadow, task string, count int) (items int) {
	for _, id := range t.runsOf[wave.ID] {
		switch run := t.stored[id]; {
		case run == nil || run.task != task || run.item < 0 || run.status == engine.StatusSkipped:
		case run.item < count:
			items++
		default:
			if again, before := wave.rerunnable[id]; again || !before {
				return 0
			}
		}
	}
	return items
}

// attempted reports whether a task of a wave was ever queued, beyond these attempts of its runs.
func (t *truth) attempted(wave, task string, before map[string]int) bool {
	for _, id := range t.runsOf[wave] {
		if run := t.stored[id]; run != nil && run.task == task && run.attempt > before[id] {
			return true
		}
	}
	return false
}

// left returns the outputs of a task that is not mapped; nil where it left none, or did not succeed.
func (w *world) left(wave *waveShadow, task string) *outputs {
	return w.leftBy(wave, engine.TaskRunID(wave.ID, task))
}

// leftBy returns the outputs of a run. What a user says has succeeded has left nothing.
func (w *world) leftBy(wave *waveShadow, id string) *outputs {
	run := w.truth.stored[id]
	if run == nil || run.status != engine.StatusSucceeded || run.item < 0 && wave.marks[run.task] != 0 {
		return nil
	}
	return w.journal.left[attemptKey(id, run.attempt)]
}

// condition evaluates a when of dag_shapes.go; known is false where the result cannot be known.
func (w *world) condition(wave *waveShadow, when string) (met, known bool) {
	switch when {
	case "", "epoch > 0":
		return true, true
	case "false":
		return false, true
	case "epoch > 1":
		return wave.Epoch > 1, true
	}
	if left := w.left(wave, sourceOf(when)); left != nil {
		return left.N > 1, true
	}
	return false, false
}

// list counts the items of a for_each of dag_shapes.go; known is false where the count cannot be known.
func (w *world) list(wave *waveShadow, forEach string) (items int, known bool) {
	switch {
	case forEach == "", forEach == "[]":
		return 0, true
	case forEach[0] == '[':
		return strings.Count(forEach, ",") + 1, true
	}
	source := sourceOf(forEach)
	if left := w.left(wave, source); left != nil {
		return len(left.List), true
	}
	for _, id := range w.truth.runsOf[wave.ID] { // a list of lists, if any item has left one; a skipped one between them has its place
		run := w.truth.stored[id]
		if run == nil || run.task != source || run.item < 0 || run.status == engine.StatusSkipped {
			continue
		}
		items = max(items, run.item+1)
		known = known || run.status == engine.StatusSucceeded && w.journal.left[attemptKey(id, run.attempt)] != nil
	}
	return items, known
}

// sourceOf returns the task that an expression reads.
func sourceOf(expression string) string {
	_, rest, _ := strings.Cut(expression, "outputs.")
	source, _, _ := strings.Cut(rest, ".")
	return source
}

// mayStart checks that a task's process may begin now: its rule holds, it gets what those before it have left, as
// many run as may, and no other wave of its DAG does.
func (w *world) mayStart(task *engine.Task, living []*program) {
	run := w.truth.stored[task.Run]
	if run == nil {
		w.fail("every process has its run", "%s starts, and is not in the store", task.Run)
		return
	}
	wave, m := w.truth.waves[run.wave], w.users.dagByUID[task.JobUID]
	if wave == nil || wave.Epoch == 0 {
		w.fail("tasks run in an open wave", "%s starts, and its wave is not open", task.Run)
		return
	}
	if wave.Epoch != task.Epoch {
		w.fail("a task knows its epoch", "%s has epoch %d, and wave %s is of %d", task.Run, task.Epoch, wave.ID, wave.Epoch)
	}
	form := m.forms[wave.Generation]
	number, known := form.graph.Index(task.Task)
	if !known {
		w.fail("tasks are of their wave's generation", "%s is of no task of generation %d", task.Run, wave.Generation)
		return
	}
	if rule := w.truth.tally(wave.ID, form, number).rule(form.spec.Tasks[number].Trigger); !form.graph.Root(number) && rule != dag.Ready {
		w.fail("needs come before dependants", "%s starts, and its rule %q says %s", task.Run, form.spec.Tasks[number].Trigger, rule)
	}
	same, items := 0, 0
	for _, other := range living {
		switch before := other.attempt.task; {
		case w.truth.stored[before.Run] == nil || w.truth.stored[before.Run].wave != wave.ID:
			w.fail("waves of one DAG never overlap", "%s starts, and %s runs", task.Run, before.Run)
		case before.Task == task.Task:
			same, items = same+1, items+1
		default:
			same++
		}
	}
	if most := form.spec.MaxParallel; most > 0 && same >= most {
		w.fail("a wave keeps to max_parallel", "%s starts as number %d of %d", task.Run, same+1, most)
	}
	if most := form.spec.Tasks[number].MaxParallel; most > 0 && items >= most {
		w.fail("a mapped task keeps to max_parallel", "%s starts as number %d of %d", task.Run, items+1, most)
	}
	for _, id := range w.truth.order {
		if other := w.truth.waves[id]; other.DAGUID == wave.DAGUID && id != wave.ID && other.Epoch > 0 {
			w.hasNothingUnderWay(other, task)
		}
	}
	w.toldInputs(wave, form, number, task)
}

// hasNothingUnderWay checks of another wave that no executor runs anything of it.
func (w *world) hasNothingUnderWay(other *waveShadow, starting *engine.Task) {
	for _, id := range w.truth.runsOf[other.ID] {
		run := w.truth.stored[id]
		if run != nil && run.attempt > 0 && !run.status.Terminal() && run.status != engine.StatusScheduled {
			w.fail("waves of one DAG never overlap", "%s starts, and %s is %s", starting.Run, id, run.status)
		}
	}
}

// toldInputs checks that a task gets the outputs of the tasks that it needs.
func (w *world) toldInputs(wave *waveShadow, form *dagForm, number int, task *engine.Task) {
	inputs := map[string]*engine.Input{}
	for i := range task.Inputs {
		inputs[task.Inputs[i].Run] = &task.Inputs[i]
	}
	early := form.spec.Tasks[number].Trigger == dag.OneSuccess || form.spec.Tasks[number].Trigger == dag.OneFailed
	wanted := 0
	for need := range form.graph.Needs(number) {
		name := form.graph.Name(need)
		_, items := w.truth.outcome(wave.ID, name)
		for _, id := range w.truth.runsOf[wave.ID] {
			run := w.truth.stored[id]
			if run == nil || run.task != name {
				continue
			}
			if in := inputs[id]; in != nil && early && run.status != engine.StatusSucceeded {
				if left := w.journal.left[attemptKey(id, in.Attempt)]; left != nil && string(in.Outputs) == left.text() {
					wanted++ // its end has come, and is not written yet
				}
				continue
			}
			if run.status != engine.StatusSucceeded {
				continue
			}
			if run.item >= 0 && items == 0 {
				continue // the wave was resumed, and the task was closed: what items of it had left before is handed on no more
			}
			left := w.leftBy(wave, id)
			if left == nil {
				continue
			}
			wanted++
			in := inputs[id]
			switch {
			case in == nil && early:
				wanted-- // it ended after the task had begun
			case in == nil:
				w.fail("outputs are passed on", "%s got nothing of %s", task.Run, id)
			case in.Attempt != run.attempt || string(in.Outputs) != left.text():
				w.fail("outputs are passed on", "%s got %s: attempt %d %s, and attempt %d left %s", task.Run, id, in.Attempt, in.Outputs, run.attempt, left.text())
			}
		}
	}
	if len(task.Inputs) > wanted {
		w.fail("outputs are passed on", "%s got outputs of %d runs, and %d have left something", task.Run, len(task.Inputs), wanted)
	}
	if len(task.Args) == 2 && !strings.Contains(task.Args[1], "${") {
		source := sourceOf(form.spec.Tasks[number].Args[1])
		if left := w.left(wave, source); left != nil && task.Args[1] != strconv.Itoa(left.N) && inputs[engine.TaskRunID(wave.ID, source)] != nil {
			w.fail("arguments are filled in", "%s got %q, and %s has put out %d", task.Run, task.Args[1], source, left.N)
		}
	}
}
