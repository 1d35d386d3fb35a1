package service_test

import (
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// skipped is an entry of the ledger that nothing in the product writes like this.
func skipped(uid string, slots ...time.Time) engine.SlotRange {
	last := slots[len(slots)-1]
	return engine.SlotRange{
		ID: engine.SlotRangeID(uid, slots[0]), JobUID: uid, Namespace: "default", Job: "busy", From: slots[0], To: last, Count: int64(len(slots)),
		Outcome: engine.OutcomeSkipped, Reason: engine.ReasonOverlap,
	}
}

func clock(hour, minute int) time.Time { return time.Date(2026, 11, 20, hour, minute, 0, 0, time.UTC) }

func TestLedgerCheckFindsASlotThatBothRanAndWasSkipped(t *testing.T) {
	w := newTide(t)
	job := w.PutJob(t, `{"name":"busy","binary":"report","schedule":"*/10 * * * *"}`)
	w.sweep()
	w.pass(35*time.Minute, false)
	w.wants()
	w.Write(t, engine.Batch{Slots: []engine.SlotRange{skipped(job.UID, clock(12, 10), clock(12, 20), clock(12, 30))}})
	w.fresh()
	w.wants("busy 12:10:00 both", "busy 12:20:00 both", "busy 12:30:00 both")
	_, err := w.Store.ExpireSlots(t.Context(), engine.Expiry{Before: w.Now.Add(time.Hour)}, 10)
	w.must(err)
	w.wants() // it was made good
}

// TestLedgerCheckReadsARangeByItsOwnGeneration: a range of three slots of another schedule begins and ends with slots of this one, which
// has three there, too. Only the two ends are known to be in it.
func TestLedgerCheckReadsARangeByItsOwnGeneration(t *testing.T) {
	w := newTide(t)
	job := w.PutJob(t, `{"name":"busy","binary":"report","schedule":"*/10 * * * *"}`)
	w.sweep()
	w.pass(35*time.Minute, false)
	other := skipped(job.UID, clock(12, 10), clock(12, 12), clock(12, 30))
	other.Generation = job.Generation + 1
	w.Write(t, engine.Batch{Slots: []engine.SlotRange{other}})
	w.fresh()
	w.wants("busy 12:10:00 both", "busy 12:30:00 both")
}

func TestLedgerCheckFindsASlotThatIsInTheLedgerTwice(t *testing.T) {
	w := newTide(t)
	job := w.PutJob(t, `{"name":"busy","binary":"report","schedule":"*/10 * * * *"}`)
	w.sweep()
	w.pass(15*time.Minute, false)
	w.pass(40*time.Minute, true) // 12:20 begins and continues
	ranges, _, err := w.Store.Slots(t.Context(), engine.SlotFilter{JobUID: job.UID, Limit: 10})
	w.must(err)
	if len(ranges) != 1 || ranges[0].Count != 3 {
		t.Fatalf("the ledger has %+v", ranges)
	}
	w.Write(t, engine.Batch{Slots: []engine.SlotRange{skipped(job.UID, clock(12, 40))}})
	w.wants("busy 12:40:00 noted_twice")
}

func TestLedgerCheckFindsASlotThatTwoWavesHave(t *testing.T) {
	w := newTide(t)
	w.PutDAG(t, "kind: DAG\nname: etl\ndefaults: {binary: report}\ntasks:\n  orders: {schedule: '*/10 * * * *'}\n")
	w.sweep()
	w.pass(25*time.Minute, false)
	dag, err := w.DAGs.Get(t.Context(), "default", "etl")
	w.must(err)
	again := w.rootRun(dag, "orders")
	if !again.Slot.Equal(clock(12, 20)) {
		t.Fatalf("the latest run is of %s", again.Slot)
	}
	again.Wave, again.Epoch, again.Revision = engine.WaveID(dag.UID, 7), 7, 1
	again.ID = engine.TaskRunID(again.Wave, "orders")
	w.Write(t, engine.Batch{Runs: []engine.Run{again}})
	w.wants("etl/orders 12:20:00 fired_twice")
}

func TestLedgerCheckFindsWhatIsOfNoSchedule(t *testing.T) {
	w := newTide(t)
	job := w.PutJob(t, `{"name":"busy","binary":"report","schedule":"*/10 * * * *"}`)
	w.sweep()
	w.pass(15*time.Minute, false)
	runs, _, err := w.Store.Runs(t.Context(), engine.RunFilter{JobUID: job.UID, Limit: 10})
	w.must(err)
	stray := runs[0]
	stray.Slot, stray.Revision = clock(12, 13), 1
	stray.ID = engine.SlotRunID(job.UID, stray.Slot)
	w.Write(t, engine.Batch{Runs: []engine.Run{stray}, Slots: []engine.SlotRange{skipped(job.UID, clock(12, 7))}})
	w.wants("busy 12:07:00 no_schedule", "busy 12:13:00 no_schedule")

	// What an earlier version named is of a schedule.
	w.PutJob(t, `{"name":"busy","binary":"report","schedule":"*/7 * * * *"}`)
	w.sweep()
	w.pass(time.Hour, false)
	w.fresh()
	w.wants("busy 12:13:00 no_schedule")
	if got, want := w.LedgerState().Differences[0].Kind.Words(), "named by no schedule that its owner ever had"; got != want {
		t.Errorf("in words it is %q", got)
	}
}

// What was backfilled is in the ledger, too.
func TestLedgerCheckTakesNoBackfillForADifference(t *testing.T) {
	w := newTide(t)
	w.PutJob(t, `{"name":"busy","binary":"report","schedule":"*/10 * * * *","catch_up":{"policy":"none"}}`)
	w.sweep()
	w.Now = w.Now.Add(45 * time.Minute)
	w.restart()
	_, err := w.BackfillJob(t.Context(), "default", "busy", clock(12, 5), clock(12, 35), "ann", false)
	w.must(err)
	w.sweep()
	w.pass(10*time.Minute, false)
	if runs, _, err := w.Store.Runs(t.Context(), engine.RunFilter{Job: "busy", Limit: 10}); err != nil || len(runs) < 3 {
		t.Fatalf("%d runs were backfilled, %v", len(runs), err)
	}
	w.fresh()
	w.wants()
}
