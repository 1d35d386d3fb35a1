package sim

import (
	"fmt"
	"slices"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
)

// waveShadow is what is known of a stored wave.
type waveShadow struct {
	engine.Wave
	kept       map[string]dag.State // tasks that stay as they were when it was last resumed; only looked up
	rerunnable map[string]bool      // runs that had ended; whether they may be run again, and have not been
	attempts   map[string]int       // of runs, when it was last resumed; only looked up
	marks      map[string]dag.State // tasks that users have decided; the same
}

// wroteWave checks what happened to a wave: its status moves as a wave's may, its number stays, and its end is what its
// runs have come to.
func (t *truth) wroteWave(wave *engine.Wave) {
	known := t.waves[wave.ID]
	if known == nil {
		known = &waveShadow{marks: map[string]dag.State{}}
		t.waves[wave.ID] = known
		t.order = append(t.order, wave.ID)
		t.w.counts.add("wave trigger", string(wave.Trigger))
	}
	if known.Revision == wave.Revision {
		return // the same write once more
	}
	t.w.note("wave", wave.ID, fmt.Sprintf("epoch %d %s %s", wave.Epoch, wave.Status, wave.Reason), wave.Revision)
	from, to := known.Status, wave.Status
	if from != to && to.Terminal() {
		t.endedAt = t.w.elapsed
	}
	if from != to && to == engine.StatusRunning {
		t.opened[wave.ID] = true
	}
	if from != to {
		t.w.counts.add("wave", from.String()+" → "+to.String())
	}
	switch {
	case from.Terminal() && (from != to || wave.Resumed > known.Resumed) && len(t.granted[wave.ID]) == 0:
		t.w.fail("terminal stays terminal", "wave %s went from %s to %s, without a request", wave.ID, from, to)
	case from == engine.StatusSucceeded && from != to && t.granted[wave.ID][0].Kind != engine.CommandClearTask:
		t.w.fail("terminal stays terminal", "wave %s had succeeded, and is %s", wave.ID, to)
	case to == engine.StatusRunning && wave.Epoch == 0, known.Epoch > 0 && known.Epoch != wave.Epoch:
		t.w.fail("a wave has one number", "wave %s is of epoch %d, and was of %d", wave.ID, wave.Epoch, known.Epoch)
	}
	if known.Epoch == 0 && wave.Epoch > 0 {
		for _, id := range t.order {
			if other := t.waves[id]; other.DAGUID == wave.DAGUID && id != wave.ID && other.Epoch == wave.Epoch {
				t.w.fail("a number has one wave", "waves %s and %s are both of epoch %d", id, wave.ID, wave.Epoch)
			}
		}
	}
	if to == engine.StatusRunning {
		for _, id := range t.order {
			if other := t.waves[id]; other.DAGUID == wave.DAGUID && id != wave.ID && other.Status == engine.StatusRunning {
				t.w.fail("waves of one DAG never overlap", "waves %s and %s are both open", id, wave.ID)
			}
		}
	}
	if wave.StartedAt.Before(wave.NotBefore) && wave.Epoch > 0 {
		t.w.fail("nothing goes before its time", "wave %s begins at %s, not before %s", wave.ID, wave.StartedAt, wave.NotBefore)
	}
	if from == engine.StatusScheduled && to == engine.StatusRunning && !wave.NotBefore.IsZero() {
		t.w.counts.add("wave", "begins later")
	}
	known.Wave = *wave
	if to.Terminal() && wave.Epoch > 0 {
		t.waveEnded(known)
	}
}

// wroteTask checks the identity of a task's run and adds it to its wave.
func (t *truth) wroteTask(run *engine.Run, first bool) {
	id := engine.TaskRunID(run.Wave, run.Task)
	if run.Item != nil {
		id = engine.ItemRunID(run.Wave, *run.Item, run.Task)
	}
	if run.ID != id {
		t.w.fail("one run a task and wave", "run %s is for task %s of wave %s", run.ID, run.Task, run.Wave)
	}
	if first {
		t.runsOf[run.Wave] = append(t.runsOf[run.Wave], run.ID)
	}
	root := t.w.users.planner(engine.RootID(run.JobUID, run.Task))
	if root == nil || run.Slot.IsZero() || run.Status == engine.StatusScheduled || run.Trigger == engine.TriggerUpstream {
		return
	}
	if run.Trigger == engine.TriggerBackfill {
		return
	}
	slot := run.Slot.UnixMilli()
	if before := root.fired[slot]; before != "" && before != run.Wave {
		t.w.fail("one wave a slot", "root %s: slot %s is in wave %s and in wave %s", root.uid, run.Slot, before, run.Wave)
	}
	root.fired[slot] = run.Wave
}

// outcome is how a task stands in a wave, by its runs: invalid where it has none.
func (t *truth) outcome(wave, task string) (state dag.State, items int) {
	var single *shadow
	count := map[dag.State]int{}
	for _, id := range t.runsOf[wave] {
		run := t.stored[id]
		if run == nil || run.task != task {
			continue
		}
		if run.item < 0 {
			single = run
			continue
		}
		if run.status == engine.StatusSkipped {
			continue // the list is shorter than it was when the wave was resumed, or the task was closed
		}
		items++
		count[stateOf(run)]++
	}
	switch {
	case items == 0 && single == nil:
		return 0, 0
	case single != nil && single.status.Terminal(), items == 0: // a mapped task that was closed has a run that says so
		return stateOf(single), 0
	case count[dag.Running] > 0:
		return dag.Running, items
	case count[dag.Failed] > 0:
		return dag.Failed, items
	case count[dag.Cancelled] > 0:
		return dag.Cancelled, items
	}
	return dag.Succeeded, items
}

func stateOf(run *shadow) dag.State {
	switch run.status {
	case engine.StatusSucceeded:
		return dag.Succeeded
	case engine.StatusFailed, engine.StatusTimedOut, engine.StatusLost, engine.StatusDead:
		return dag.Failed
	case engine.StatusCancelled:
		return dag.Cancelled
	case engine.StatusSkipped:
		if run.upstream {
			return dag.UpstreamFailed
		}
		return dag.Skipped
	case engine.StatusScheduled, engine.StatusQueued, engine.StatusRunning, engine.StatusRetrying, engine.StatusInvalid:
	}
	return dag.Running
}

// waveEnded holds the end of a wave to its runs, and those to the model of one.
func (t *truth) waveEnded(wave *waveShadow) {
	m := t.w.users.dagByUID[wave.DAGUID]
	form := m.forms[wave.Generation]
	if form == nil {
		t.w.fail("waves are of a generation", "wave %s is of generation %d, which never was", wave.ID, wave.Generation)
		return
	}
	whole := true
	if m.dag.Deleted && wave.Tally == (engine.WaveTally{}) {
		return // its tasks were known no longer
	}
	count := map[dag.State]int{}
	for task := range form.graph.Len() {
		name := form.graph.Name(task)
		state, items := t.outcome(wave.ID, name)
		switch {
		case state == 0 && form.graph.Root(task):
			whole = false // it was taken back with its slot
		case state == 0:
			t.w.fail("every task of a wave has a run", "wave %s has ended, and task %s has none", wave.ID, name)
			return
		case !state.Ended():
			t.w.fail("a wave ends after its runs", "wave %s is %s, and task %s is %s", wave.ID, wave.Status, name, state)
			return
		}
		if f := form.spec.Tasks[task].ForEach; items > 0 && wave.CancelBy != "" && f != "" {
			whole = false // items that had not begun are cancelled, and have no run
		}
		count[state]++
		t.w.counts.add("task ends", state.String())
	}
	if !whole {
		return
	}
	want := engine.StatusSucceeded
	switch {
	case wave.CancelBy != "":
		want = engine.StatusCancelled
	case count[dag.Failed] > 0:
		want = engine.StatusFailed
	case count[dag.Cancelled] > 0:
		want = engine.StatusCancelled
	case count[dag.UpstreamFailed] > 0:
		want = engine.StatusFailed
	}
	if wave.Status != want {
		t.w.fail("a wave ends as its runs do", "wave %s is %s, and its runs say %s: %v", wave.ID, wave.Status, want, count)
	}
	tally := engine.WaveTally{
		Tasks: form.graph.Len(), Succeeded: count[dag.Succeeded], Failed: count[dag.Failed], Cancelled: count[dag.Cancelled],
		Skipped: count[dag.Skipped] + count[dag.UpstreamFailed],
	}
	if wave.Tally != tally {
		t.w.fail("a wave counts its tasks", "wave %s counts %+v, and its runs say %+v", wave.ID, wave.Tally, tally)
	}
	if wave.CancelBy == "" {
		t.w.asTheModelSays(wave, form)
	}
}

// number checks the numbers of the waves of a DAG: from 1 on, without gaps.
func (w *world) number(m *dagModel) {
	var epochs []int64
	for _, id := range w.truth.order {
		if wave := w.truth.waves[id]; wave.DAGUID == m.uid && wave.Epoch > 0 {
			epochs = append(epochs, wave.Epoch)
		}
	}
	slices.Sort(epochs)
	for i, epoch := range epochs {
		if epoch != int64(i+1) {
			w.fail("waves are numbered without gaps", "DAG %s has waves %v", m.uid, epochs)
			return
		}
	}
}
