package shard_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/spec"
)

func (w *world) own(runner *shard.Runner, owns func(number int) bool) {
	w.t.Helper()
	var mine []int
	for number := range engine.Shards {
		if owns(number) {
			mine = append(mine, number)
		}
	}
	stopped, err := runner.Own(w.t.Context(), mine)
	if err != nil {
		w.t.Fatal(err)
	}
	<-stopped
}

// Shards go from one engine to another and back while jobs run: each slot fires once, whichever engine owns it.
func TestShardsMoveBetweenRunners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 300*time.Millisecond)
		all := func(int) bool { return true }
		none := func(int) bool { return false }
		a, stopA := w.start()
		b, stopB := w.start()
		w.own(b, none)
		w.own(a, all)
		const jobs = 20
		for i := range jobs {
			w.create(fmt.Sprintf("tick%d", i), func(j *spec.Job) {
				j.Every, j.CatchUp.Policy, j.Overlap = spec.Duration(time.Second), spec.CatchUpAll, spec.OverlapQueue
			})
		}
		pass(5 * time.Second)
		even := func(number int) bool { return number%2 == 0 }
		w.own(a, even)
		w.own(b, func(number int) bool { return !even(number) })
		pass(5 * time.Second)
		w.own(a, none)
		w.own(b, all)
		pass(5 * time.Second)
		w.own(b, none)
		pass(2 * time.Second) // no engine owns a shard
		w.own(a, all)
		pass(4*time.Second + 700*time.Millisecond)
		stopA()
		stopB()
		w.queue.work.Wait()
		for i := range jobs {
			runs := w.runs(fmt.Sprintf("tick%d", i))
			for n := 1; n < len(runs); n++ {
				if gap := runs[n-1].Slot.Sub(runs[n].Slot); gap != time.Second {
					t.Errorf("%s: between the slots %s and %s lie %s", runs[n].Job, runs[n].Slot, runs[n-1].Slot, gap)
				}
			}
			if len(runs) < 20 {
				t.Errorf("tick%d has %d runs in 22 seconds", i, len(runs))
			}
			for n := range runs {
				if runs[n].Status != engine.StatusSucceeded {
					t.Errorf("%s is %s: %s", runs[n].ID, runs[n].Status, runs[n].Reason)
				}
			}
		}
		w.once()
	})
}

// fences counts the shards that engines lost without knowing.
type fences struct{ seen atomic.Int64 }

func (*fences) Published(*engine.Task, time.Duration) {}
func (*fences) Finished(*engine.Result)               {}
func (*fences) Committed(int, time.Duration)          {}
func (f *fences) Fenced(int)                          { f.seen.Add(1) }

// Two engines believe to own all shards, and take them from one another: nothing is lost, and nothing starts twice.
func TestTwoRunnersOfTheSameShardsFireEachSlotOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 300*time.Millisecond)
		lost := new(fences)
		w.watch = lost
		const jobs = 10
		for i := range jobs {
			w.create(fmt.Sprintf("tick%d", i), func(j *spec.Job) {
				j.Every, j.CatchUp.Policy, j.Overlap = spec.Duration(time.Second), spec.CatchUpAll, spec.OverlapQueue
			})
		}
		_, stopA := w.start()
		pass(3 * time.Second)
		_, stopB := w.start()
		pass(10 * time.Second)
		stopA()
		pass(10 * time.Second)
		stopB()
		w.queue.work.Wait()
		if n := lost.seen.Load(); n < jobs {
			t.Errorf("%d shards were lost", n)
		}
		for i := range jobs {
			runs := w.runs(fmt.Sprintf("tick%d", i))
			for n := 1; n < len(runs); n++ {
				if gap := runs[n-1].Slot.Sub(runs[n].Slot); gap != time.Second {
					t.Errorf("%s: between the slots %s and %s lie %s", runs[n].Job, runs[n].Slot, runs[n-1].Slot, gap)
				}
			}
			if len(runs) < 20 {
				t.Errorf("tick%d has %d runs in 23 seconds", i, len(runs))
			}
		}
		w.once()
	})
}

// A runner ignores changes of jobs whose shard another engine owns.
func TestARunnerLeavesOthersJobsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, time.Millisecond)
		runner, stop := w.start()
		job := w.create("theirs", func(j *spec.Job) { j.Every = spec.Duration(time.Second) })
		w.own(runner, func(number int) bool { return number != job.Shard })
		w.queue.wakes <- engine.Wake{Shard: job.Shard, Kind: engine.WakeJob, Key: job.UID}
		pass(3 * time.Second)
		if runs := w.runs(job.UID); len(runs) > 0 {
			t.Errorf("%d runs of a job that another engine owns", len(runs))
		}
		stop()
	})
}
