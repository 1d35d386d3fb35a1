package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// clears asks for a task of a wave that has ended to be run again.
func (b *waveBench) clears(wave, task string, item *int, alone bool) {
	b.receive(engine.Command{
		Kind: engine.CommandClearTask, RunID: wave, Task: task, Item: item, Alone: alone, Revision: b.waves[wave].Revision,
	})
}

// endedAgain starts a wave of a definition, executes all of it, and forgets what was started.
func endedAgain(t *testing.T, definition string, fails ...string) (*waveBench, string) {
	t.Helper()
	b := newWaveBench(t, definition)
	b.ends = func(task *engine.Task) engine.Finish {
		if slices.Contains(fails, task.Task) {
			return engine.Finish{Status: engine.StatusFailed, NoRetry: true, Error: "no"}
		}
		return engine.Finish{Status: engine.StatusSucceeded, Outputs: []byte(`{"list": [1, 2, 3]}`)}
	}
	wave := b.ask("one", nil, nil)
	b.drain()
	b.started, b.now = nil, b.now.Add(time.Minute)
	return b, wave
}

func (b *waveBench) wantStarted(want string) {
	b.t.Helper()
	var tasks []string
	for _, started := range b.started {
		run := b.runs[started[:strings.IndexByte(started, '#')]]
		name := run.Task
		if run.Item != nil {
			name += string(rune('0' + *run.Item))
		}
		tasks = append(tasks, name+started[strings.IndexByte(started, '#'):])
	}
	if got := strings.Join(tasks, " "); got != want {
		b.t.Errorf("started %q, want %q", got, want)
	}
}

const clearedDiamond = "kind: DAG\nname: etl\ndefaults: {binary: work}\n" +
	"tasks: {a: {}, b: {needs: [a]}, c: {needs: [a]}, d: {needs: [b, c]}}\n"

func TestClearedTaskIsRunAgainWithWhatComesAfterIt(t *testing.T) {
	b, wave := endedAgain(t, clearedDiamond)
	b.clears(wave, "b", nil, false)
	if r := b.runs[engine.TaskRunID(wave, "b")]; r.Outputs != nil || b.waves[wave].Status != engine.StatusRunning {
		t.Errorf("while it is run again it has left %s, and its wave is %s", r.Outputs, b.waves[wave].Status)
	}
	b.drain()
	b.wantStarted("b#2 d#2")
	b.wants(wave, engine.StatusSucceeded, "a succeeded, b succeeded, c succeeded, d succeeded")
	if rests := b.waves[wave].Rests; len(rests) != 1 || rests[0].To.Sub(rests[0].From) != time.Minute {
		t.Errorf("it rested %v", rests)
	}
}

func TestTaskThatIsClearedAloneLeavesTheOthersAsTheyAre(t *testing.T) {
	b, wave := endedAgain(t, clearedDiamond, "c")
	b.wants(wave, engine.StatusFailed, "a succeeded, b succeeded, c failed, d skipped (upstream)")
	b.clears(wave, "b", nil, true)
	b.drain()
	b.wantStarted("b#2")
	b.wants(wave, engine.StatusFailed, "a succeeded, b succeeded, c failed, d skipped (upstream)")
	if got := b.waves[wave].Reason; got != "task c: no" {
		t.Errorf("the wave failed because of %q", got)
	}
}

func TestClearedTaskThatFailsClosesWhatComesAfterIt(t *testing.T) {
	b, wave := endedAgain(t, clearedDiamond)
	b.ends = func(*engine.Task) engine.Finish {
		return engine.Finish{Status: engine.StatusFailed, NoRetry: true, Error: "not now"}
	}
	b.clears(wave, "a", nil, false)
	b.drain()
	b.wantStarted("a#2")
	b.wants(wave, engine.StatusFailed, "a failed, b skipped (upstream), c skipped (upstream), d skipped (upstream)")
}

const clearedMapped = "kind: DAG\nname: etl\ndefaults: {binary: work}\n" +
	"tasks: {a: {}, each: {needs: [a], for_each: outputs.a.list, max_parallel: 2}, z: {needs: [each], trigger: all_done}}\n"

func TestOneItemOfAMappedTaskIsClearedAlone(t *testing.T) {
	one := 1
	b, wave := endedAgain(t, clearedMapped)
	b.clears(wave, "each", &one, true)
	b.drain()
	b.wantStarted("each1#2")
	b.wants(wave, engine.StatusSucceeded, "a succeeded, each[0] succeeded, each[1] succeeded, each[2] succeeded, z succeeded")

	b, wave = endedAgain(t, clearedMapped, "each")
	b.ends = nil
	b.clears(wave, "each", &one, false)
	b.drain()
	b.wantStarted("each1#2 z#2")
	b.wants(wave, engine.StatusFailed, "a succeeded, each[0] failed, each[1] succeeded, each[2] failed, z succeeded")
}

func TestClearedMappedTaskRunsAllOfItsItemsAgain(t *testing.T) {
	b, wave := endedAgain(t, clearedMapped)
	b.clears(wave, "each", nil, false)
	b.drain()
	b.wantStarted("each0#2 each1#2 each2#2 z#2")

	b, wave = endedAgain(t, clearedMapped)
	b.ends = func(task *engine.Task) engine.Finish {
		return engine.Finish{Status: engine.StatusSucceeded, Outputs: []byte(`{"list": [1, 2]}`)}
	}
	b.clears(wave, "a", nil, false) // its list is shorter now
	b.drain()
	b.wantStarted("a#2 each0#2 each1#2 z#2")
	b.wants(wave, engine.StatusSucceeded, "a succeeded, each[0] succeeded, each[1] succeeded, each[2] skipped, z succeeded")
}

func TestClearedTaskIsGivenOtherArgumentsAndPayload(t *testing.T) {
	b, wave := endedAgain(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\nargs: {DAY: '1', ZONE: north}\ntasks: {a: {}, b: {needs: [a]}}\n")
	given := func() (string, string) { return fmt.Sprint(b.queue[0].Env), string(b.queue[0].Payload) }
	b.receive(engine.Command{
		Kind: engine.CommandClearTask, RunID: wave, Task: "a", Revision: b.waves[wave].Revision,
		Args: map[string]string{"DAY": "2"}, Payload: []byte(`{"again": true}`),
	})
	b.restart()
	if env, payload := given(); env != "map[DAY:2 ZONE:north]" || payload != `{"again": true}` {
		t.Errorf("it is given %s and %s", env, payload)
	}
	b.execute(0)
	if env, payload := given(); env != "map[DAY:1 ZONE:north]" || payload != "" {
		t.Errorf("the task after it is given %s and %q", env, payload)
	}
	b.drain()
	b.clears(wave, "a", nil, true)
	if env, payload := given(); env != "map[DAY:1 ZONE:north]" || payload != "" {
		t.Errorf("cleared once more it is given %s and %q", env, payload)
	}
}

// Whatever is lost when the engine dies, what was cleared is run again once and nothing else is.
func TestClearedTasksOutliveCrashes(t *testing.T) {
	for torn := range 12 {
		b, wave := endedAgain(t, clearedMapped)
		b.torn = torn
		b.clears(wave, "each", nil, false)
		if b.waves[wave].Status != engine.StatusRunning { // the command was lost with the engine, and comes again
			b.clears(wave, "each", nil, false)
		}
		b.drain()
		b.restart()
		b.drain()
		slices.Sort(b.started)
		b.wantStarted("z#2 each0#2 each1#2 each2#2") // by id
		b.wants(wave, engine.StatusSucceeded, "a succeeded, each[0] succeeded, each[1] succeeded, each[2] succeeded, z succeeded")
	}
}

func TestWaveIsClearedByOneOfTwoRequests(t *testing.T) {
	b, wave := endedAgain(t, clearedDiamond)
	revision := b.waves[wave].Revision
	for _, task := range []string{"d", "a"} {
		b.receive(engine.Command{Kind: engine.CommandClearTask, RunID: wave, Task: task, Revision: revision})
	}
	b.drain()
	b.wantStarted("d#2")
}

// Of a mapped task that a user has cancelled some items never began. Another task is cleared, and the wave is resumed afterwards.
func TestItemsThatNeverBeganAreRunWhenAClearedWaveIsResumed(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks: {a: {}, each: {for_each: '[1, 2]', max_parallel: 1}}\n")
	wave := b.ask("one", nil, nil)
	b.command(engine.CommandCancelWave, wave, "", engine.StatusInvalid)
	b.drain()
	b.started = nil
	b.clears(wave, "a", nil, false)
	b.drain()
	b.wantStarted("a#2")
	if got := b.waves[wave].Status; got != engine.StatusCancelled {
		t.Errorf("with a mapped task that stays cancelled the wave is %s", got)
	}
	b.restart()
	b.command(engine.CommandResumeWave, wave, "", engine.StatusInvalid)
	b.drain()
	b.wants(wave, engine.StatusSucceeded, "a succeeded, each[0] succeeded, each[1] succeeded")
}

// The task that leaves a list was cleared alone, and leaves a shorter one. When the wave is resumed, an item beyond it that failed is not run
// again, and one that succeeded stays and hands on what it left, at its place.
func TestItemsBeyondAListThatGotShorterStayIfTheySucceeded(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\n"+
		"tasks: {a: {}, each: {needs: [a], for_each: outputs.a.list}, z: {needs: [each], for_each: outputs.each.list}}\n")
	list := `{"list": [1, 2, 3]}`
	b.ends = func(task *engine.Task) engine.Finish {
		if item := b.runs[task.Run].Item; task.Task == "each" && *item == 1 {
			return engine.Finish{Status: engine.StatusFailed, NoRetry: true, Error: "no"}
		}
		return engine.Finish{Status: engine.StatusSucceeded, Outputs: []byte(list)}
	}
	wave := b.ask("one", nil, nil)
	b.drain()
	list = `{"list": [1]}`
	b.clears(wave, "a", nil, true)
	b.drain()
	b.wants(wave, engine.StatusFailed, "a succeeded, each[0] succeeded, each[1] failed, each[2] succeeded, z skipped (upstream)")
	b.started = nil
	b.command(engine.CommandResumeWave, wave, "", engine.StatusInvalid)
	b.drain()
	b.restart()
	b.wantStarted("z0#1 z1#1 z2#1")
	b.wants(wave, engine.StatusSucceeded,
		"a succeeded, each[0] succeeded, each[1] skipped, each[2] succeeded, z[0] succeeded, z[1] succeeded, z[2] succeeded")
}

// One item of a mapped task was cancelled, and the wave with it; all items had begun. What the others have left is handed on still when a task
// after them is cleared.
func TestMappedTaskOfWhichAnItemWasCancelledHandsOnWhatTheOthersLeft(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\n"+
		"tasks: {each: {for_each: '[1, 2]'}, z: {needs: [each], trigger: all_done}}\n")
	b.ends = func(task *engine.Task) engine.Finish {
		if item := b.runs[task.Run].Item; item != nil && *item == 1 {
			return engine.Finish{Status: engine.StatusCancelled}
		}
		return engine.Finish{Status: engine.StatusSucceeded, Outputs: []byte(`{"n": 1}`)}
	}
	wave := b.ask("one", nil, nil)
	b.drain()
	b.wants(wave, engine.StatusCancelled, "each[0] succeeded, each[1] cancelled, z succeeded")
	b.clears(wave, "z", nil, true)
	b.restart()
	if inputs := b.queue[0].Inputs; len(inputs) != 1 || *inputs[0].Item != 0 {
		t.Errorf("z is given %v", inputs)
	}
	b.drain()
	b.wants(wave, engine.StatusCancelled, "each[0] succeeded, each[1] cancelled, z succeeded")
}

// The task that leaves a list was cleared alone, and leaves a longer one. A mapped task that stays as it was has no more items than before, also
// after a crash, until it is run again itself.
func TestMappedTaskThatStaysHasNoMoreItemsThanBefore(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\n"+
		"tasks: {a: {}, each: {needs: [a], for_each: outputs.a.list}, other: {}}\n")
	list := `{"list": [1]}`
	b.ends = func(task *engine.Task) engine.Finish {
		if task.Task == "other" && task.Attempt == 1 {
			return engine.Finish{Status: engine.StatusFailed, NoRetry: true, Error: "no"}
		}
		return engine.Finish{Status: engine.StatusSucceeded, Outputs: []byte(list)}
	}
	wave := b.ask("one", nil, nil)
	b.drain()
	b.started, list = nil, `{"list": [1, 2]}`
	b.clears(wave, "a", nil, true)
	b.drain()
	b.restart()
	b.drain()
	b.command(engine.CommandResumeWave, wave, "", engine.StatusInvalid)
	b.restart()
	b.drain()
	b.wantStarted("a#2 other#2")
	b.wants(wave, engine.StatusSucceeded, "a succeeded, each[0] succeeded, other succeeded")
	b.started = nil
	b.clears(wave, "each", nil, false)
	b.drain()
	b.wantStarted("each0#2 each1#1")
}
