package core_test

import (
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
)

// later asks for a wave that is to begin at a time after the DAG was made.
func (b *waveBench) later(key string, at time.Duration) string {
	w := engine.Wave{
		ID: engine.ManualWaveID(waveUID, key), Namespace: "default", DAGUID: waveUID, DAG: b.dag.Name, Shard: b.dag.Shard, Trigger: engine.TriggerManual,
		By: "ann", Status: engine.StatusScheduled, CreatedAt: b.now, NotBefore: b.dag.CreatedAt.Add(at),
	}
	b.receive(engine.Command{Kind: engine.CommandStartWave, RunID: w.ID, Wave: &w})
	return w.ID
}

func (b *waveBench) waveIs(id string, want engine.Status) {
	b.t.Helper()
	if got := b.waves[id].Status; got != want {
		b.t.Errorf("at %s wave %s is %s, want %s", b.now.Format("15:04:05"), id, got, want)
	}
}

const twoTasks = "kind: DAG\nname: etl\ndefaults: {binary: work}\ntasks: {a: {}, b: {needs: [a], args: ['${TIDEWHEEL_SLOT}']}}\n"

func TestAWaveThatIsAskedForLaterBeginsThen(t *testing.T) {
	b := newWaveBench(t, twoTasks)
	id := b.later("one", time.Hour)
	b.ends = func(task *engine.Task) engine.Finish {
		if !task.Slot.Equal(b.dag.CreatedAt.Add(time.Hour)) {
			t.Errorf("task %s is for %s", task.Task, task.Slot)
		}
		return engine.Finish{Status: engine.StatusSucceeded}
	}
	b.until(30 * time.Minute)
	b.restart() // the engine that begins it is another one
	b.until(time.Hour - time.Second)
	b.waveIs(id, engine.StatusScheduled)
	b.until(time.Hour + time.Second)
	b.waveIs(id, engine.StatusSucceeded)
	if begun := b.waves[id].StartedAt; !begun.Equal(b.dag.CreatedAt.Add(time.Hour)) {
		t.Errorf("it began at %s", begun)
	}
}

// What is asked for now does not wait for it, and it waits for what is open when its time comes.
func TestScheduledWaveBlocksNoOtherWave(t *testing.T) {
	b := newWaveBench(t, twoTasks)
	later := b.later("later", time.Minute)
	now := b.ask("now", nil, nil)
	b.idle(2 * time.Minute)
	b.waveIs(now, engine.StatusRunning)
	b.waveIs(later, engine.StatusScheduled)
	b.drain()
	b.waveIs(now, engine.StatusSucceeded)
	b.waveIs(later, engine.StatusSucceeded)
}

func TestAWaveThatIsAskedForLaterIsCancelled(t *testing.T) {
	b := newWaveBench(t, twoTasks)
	id := b.later("one", time.Hour)
	b.command(engine.CommandCancelWave, id, "", engine.StatusInvalid)
	b.waveIs(id, engine.StatusCancelled)
	if timers := b.core.Stats().Timers; timers > 0 {
		t.Errorf("%d timers are left", timers)
	}
	b.until(2 * time.Hour)
	b.waveIs(id, engine.StatusCancelled)
}

// Its time has come while another wave was open, and then the clock goes back behind it.
func TestAWaveThatIsAskedForLaterWaitsAgainWhereTheClockGoesBack(t *testing.T) {
	b := newWaveBench(t, twoTasks)
	later := b.later("later", time.Minute)
	now := b.ask("now", nil, nil)
	b.idle(2 * time.Minute)
	b.now = b.dag.CreatedAt.Add(30 * time.Second)
	b.step(core.ClockWentBack{By: 90 * time.Second})
	b.drain()
	b.waveIs(now, engine.StatusSucceeded)
	b.waveIs(later, engine.StatusScheduled)
	b.until(time.Minute + time.Second)
	b.waveIs(later, engine.StatusSucceeded)
}
