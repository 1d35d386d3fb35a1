package core_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
)

// Mapped tasks in resumed waves, whose list or whose needs are recreated.

func failed() engine.Finish {
	return engine.Finish{Status: engine.StatusFailed, NoRetry: true, Error: "no"}
}

func putOut(outputs string) engine.Finish {
	return engine.Finish{Status: engine.StatusSucceeded, Outputs: json.RawMessage(outputs)}
}

// Seed 50014528: the list of a task that has succeeded is made from a task that is run again.
func TestMappedTaskThatSucceededStaysSoWhileItsSourceRunsAgainAfterARestart(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks:\n  a: {}\n"+
		"  source: {needs: [a], trigger: all_done, for_each: '[1, 2]'}\n"+
		"  each: {needs: [source], trigger: all_done, for_each: outputs.source.n}\n")
	b.ends = func(task *engine.Task) engine.Finish {
		if task.Task == "a" || task.Task == "source" && *task.Item == 1 {
			return failed()
		}
		return putOut(`{"n": 1}`)
	}
	wave := b.ask("one", nil, nil)
	b.drain()
	b.wants(wave, engine.StatusFailed, "a failed, each[0] succeeded, each[1] succeeded, source[0] succeeded, source[1] failed")
	b.ends = nil
	b.command(engine.CommandResumeWave, wave, "", engine.StatusInvalid)
	b.restart()
	b.drain()
	b.wants(wave, engine.StatusSucceeded, "a succeeded, each[0] succeeded, each[1] succeeded, source[0] succeeded, source[1] succeeded")
}

// Seed 50028273: what a closed task's items had left was handed on until the engine was restarted.
func TestMappedTaskThatIsClosedHandsNothingOn(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprintf("restarted %t", restarted), func(t *testing.T) {
			b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks:\n  a: {}\n"+
				"  each: {needs: [a], trigger: one_failed, for_each: '[1, 2]'}\n"+
				"  last: {needs: [each], trigger: all_done}\n")
			b.ends = func(task *engine.Task) engine.Finish {
				if task.Task != "each" || *task.Item == 1 {
					return failed()
				}
				return putOut(`{"n": 1}`)
			}
			wave := b.ask("one", nil, nil)
			b.drain()
			b.wants(wave, engine.StatusFailed, "a failed, each[0] succeeded, each[1] failed, last failed")
			b.ends = nil
			b.command(engine.CommandResumeWave, wave, "", engine.StatusInvalid)
			if restarted {
				b.restart()
			}
			b.execute(0) // a
			if len(b.queue) != 1 || b.queue[0].Task != "last" || len(b.queue[0].Inputs) != 0 {
				t.Errorf("what goes then: %+v", b.queue)
			}
			b.drain()
			b.wants(wave, engine.StatusSucceeded, "a succeeded, each skipped, each[0] succeeded, each[1] skipped, last succeeded")
		})
	}
}

// The same where a user marks what it needs, so that it is closed as the wave is resumed.
func TestMappedTaskThatAMarkClosesHandsNothingOn(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks:\n  a: {}\n"+
		"  each: {needs: [a], trigger: one_failed, for_each: '[1, 2]'}\n  last: {needs: [each], trigger: all_done}\n")
	b.ends = func(task *engine.Task) engine.Finish {
		if task.Task != "each" || *task.Item == 1 {
			return failed()
		}
		return putOut(`{"n": 1}`)
	}
	wave := b.ask("one", nil, nil)
	b.drain()
	b.wants(wave, engine.StatusFailed, "a failed, each[0] succeeded, each[1] failed, last failed")
	b.ends = nil
	b.command(engine.CommandMarkTask, wave, "a", engine.StatusSucceeded)
	if len(b.queue) != 1 || b.queue[0].Task != "last" || len(b.queue[0].Inputs) != 0 {
		t.Errorf("what goes then: %+v", b.queue)
	}
}

func TestItemsThatAListHasNoMoreAreClosed(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks:\n  source: {for_each: '[1, 2, 3]'}\n"+
		"  each: {needs: [source], trigger: all_done, for_each: 'filter(outputs.source.n, # == nil)'}\n")
	fails := map[int]bool{1: true, 2: true}
	b.ends = func(task *engine.Task) engine.Finish {
		if task.Task == "each" || fails[*task.Item] {
			return failed()
		}
		return putOut(`{"n": 1}`)
	}
	wave := b.ask("one", nil, nil)
	b.drain()
	b.wants(wave, engine.StatusFailed, "each[0] failed, each[1] failed, source[0] succeeded, source[1] failed, source[2] failed")
	delete(fails, 1)
	b.command(engine.CommandResumeWave, wave, "", engine.StatusInvalid)
	b.drain()
	b.wants(wave, engine.StatusFailed, "each[0] failed, each[1] skipped, source[0] succeeded, source[1] succeeded, source[2] failed")
}

func TestItemsThatNeverBeganWaitForWhatTheyNeedAfterARestart(t *testing.T) {
	b := newWaveBench(t, "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks:\n  a: {}\n"+
		"  each: {needs: [a], trigger: all_done, for_each: '[1, 2, 3]', max_parallel: 1}\n")
	b.ends = func(task *engine.Task) engine.Finish {
		if task.Task == "a" {
			return failed()
		}
		return putOut(`{"n": 1}`)
	}
	wave := b.ask("one", nil, nil)
	b.execute(0) // a
	item := b.queue[0]
	b.begin(0, false)
	b.command(engine.CommandCancelWave, wave, "", engine.StatusInvalid)
	b.end(item) // it was faster
	b.wants(wave, engine.StatusCancelled, "a failed, each[0] succeeded")
	b.ends = nil
	b.command(engine.CommandResumeWave, wave, "", engine.StatusInvalid)
	b.restart()
	if len(b.queue) != 1 || b.queue[0].Task != "a" {
		t.Errorf("what goes first: %+v", b.queue)
	}
	b.drain()
	b.wants(wave, engine.StatusSucceeded, "a succeeded, each[0] succeeded, each[1] succeeded, each[2] succeeded")
}

// Seed 700008366: the engine dies once it has written that the wave is cancelled, before anything follows, or continues.
func TestItemsOfACancelledWaveThatNeverBeganEndAfterARestart(t *testing.T) {
	for _, torn := range []int{-1, 1} {
		b := newWaveBench(t, "kind: DAG\nname: etl\nmax_parallel: 1\ndefaults: {binary: work}\ntasks:\n  a: {}\n  each: {for_each: '[1]'}\n")
		b.ends = func(*engine.Task) engine.Finish { return failed() }
		wave := b.ask("one", nil, nil)
		b.drain()
		b.wants(wave, engine.StatusFailed, "a failed, each[0] failed")
		b.command(engine.CommandResumeWave, wave, "", engine.StatusInvalid)
		task := b.queue[0]
		b.begin(0, false)
		b.torn = torn
		b.command(engine.CommandCancelWave, wave, "", engine.StatusInvalid)
		b.end(task)
		b.wants(wave, engine.StatusCancelled, "a cancelled, each cancelled, each[0] cancelled")
	}
}
