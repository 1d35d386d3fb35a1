package service_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
)

func (w *tide) wants(want ...string) {
	w.t.Helper()
	if got := w.differences(); !slices.Equal(got, append([]string{}, want...)) {
		w.t.Errorf("missing are %v, want %v", got, want)
	}
}

// lose removes entries from the ledger, as nothing in the product does.
func (w *tide) lose(uid string) (lost []engine.SlotRange) {
	w.t.Helper()
	ranges, _, err := w.Store.Slots(w.t.Context(), engine.SlotFilter{JobUID: uid, Limit: 1000})
	w.must(err)
	if _, err := w.Store.ExpireSlots(w.t.Context(), engine.Expiry{Before: w.Now.Add(time.Hour)}, 1000); err != nil {
		w.t.Fatal(err)
	}
	return ranges
}

func TestLedgerCheckFindsASlotThatWasTakenOutByHand(t *testing.T) {
	w := newTide(t)
	job := w.PutJob(t, `{"name":"busy","binary":"report","schedule":"*/10 * * * *"}`)
	d := w.PutDAG(t, diamond)
	w.sweep()
	w.pass(15*time.Minute, false) // 12:10
	w.pass(20*time.Minute, true)  // 12:20 begins and continues, so that 12:30 is skipped
	w.wants()
	ranges := w.lose(job.UID)
	if len(ranges) != 1 || ranges[0].Reason != engine.ReasonOverlap {
		t.Fatalf("the ledger had %+v", ranges)
	}
	w.wants() // these slots have been looked at, and a server that continues does not look twice

	again := newTide(t) // one that starts looks at all
	again.Store, again.Now = w.Store, w.Now
	again.Service = service.New(w.Store, w.Blobs, w.Queue, w.Log, service.Config{Now: func() time.Time { return again.Now }})
	again.wants("busy 12:30:00")
	state := again.LedgerState()
	if state.Found != 1 || state.Differences[0].Namespace != "default" || state.Through.IsZero() || state.Slots < 4 {
		t.Errorf("%+v", state)
	}
	again.wants("busy 12:30:00") // it stays until it is there
	again.Write(t, engine.Batch{Slots: ranges})
	again.wants()

	// Of a root, its runs count as well.
	w.work(1 << 30)
	w.pass(2*time.Hour, false)
	if run := w.rootRun(d, "orders"); run.Slot.IsZero() {
		t.Error("no root has run")
	}
	w.wants()
}

func (w *tide) rootRun(d engine.DAG, root string) engine.Run {
	w.t.Helper()
	runs, _, err := w.Store.Runs(w.t.Context(), engine.RunFilter{DAGUID: d.UID, Task: root, Limit: 1})
	w.must(err)
	if len(runs) == 0 {
		return engine.Run{}
	}
	return runs[0]
}

// fresh checks all from the beginning, as a server that starts does.
func (w *tide) fresh() {
	w.Service = service.New(w.Store, w.Blobs, w.Queue, w.Log, service.Config{Now: func() time.Time { return w.Now }})
}

func TestLedgerCheckFindsALostSlotOfARoot(t *testing.T) {
	w := newTide(t)
	w.PutDAG(t, "kind: DAG\nname: etl\ndefaults: {binary: report}\ncatch_up: {policy: none}\ntasks:\n  orders: {schedule: '*/10 * * * *'}\n  rates: {schedule: '*/20 * * * *'}\n  join: {needs: [orders, rates]}\n")
	w.sweep()
	w.Now = w.Now.Add(65 * time.Minute) // an outage
	w.restart()
	w.wants()
	dag, err := w.DAGs.Get(t.Context(), "default", "etl")
	w.must(err)
	if lost := w.lose(engine.RootID(dag.UID, "rates")); len(lost) != 1 || lost[0].Count != 3 {
		t.Fatalf("the ledger had %+v", lost)
	}
	w.fresh()
	w.wants("etl/orders 12:10:00", "etl/orders 12:20:00", "etl/orders 12:30:00", "etl/orders 12:40:00", "etl/orders 12:50:00", "etl/orders 13:00:00",
		"etl/rates 12:20:00", "etl/rates 12:40:00", "etl/rates 13:00:00")
	w.must(w.DAGs.Delete(t.Context(), "default", "etl", "ann", 0))
	w.wants() // nothing is owed to what is gone
}

// Slots that are caught up one wave after the other are not missing before their turn.
func TestLedgerCheckLeavesSlotsAloneThatWaitForTheirTurn(t *testing.T) {
	w := newTide(t)
	dag := w.PutDAG(t, "kind: DAG\nname: etl\ndefaults: {binary: report}\ncatch_up: {policy: all, window: 10h}\ntasks: {orders: {schedule: '*/10 * * * *'}}\n")
	w.sweep()
	w.Now = w.Now.Add(65 * time.Minute) // an outage
	w.restart()
	tasks, err := w.Store.TasksByID(t.Context(), []string{engine.RootID(dag.UID, "orders")})
	w.must(err)
	if len(tasks) != 1 || len(tasks[0].Waiting) < 3 {
		t.Fatalf("nothing waits: %+v", tasks)
	}
	w.wants()
	w.fresh()
	w.wants()
}

// A job whose planned slot was lost would never fire again, without a notice.
func TestLedgerCheckFindsAJobWithoutAPlannedSlot(t *testing.T) {
	w := newTide(t)
	job := w.PutJob(t, `{"name":"forgotten","binary":"report","schedule":"*/10 * * * *"}`)
	w.sweep()
	w.Write(t, engine.Batch{DropTasks: []string{job.UID}})
	w.Now = w.Now.Add(25 * time.Minute)
	w.wants("forgotten 12:10:00", "forgotten 12:20:00")
}

func TestLedgerCheckWaitsForPausesAndOutages(t *testing.T) {
	w := newTide(t)
	w.PutJob(t, `{"name":"paused","binary":"report","schedule":"*/10 * * * *"}`)
	w.sweep()
	w.pass(15*time.Minute, false)
	if _, err := w.Jobs.Pause(t.Context(), "default", "paused", "ann", ""); err != nil {
		t.Fatal(err)
	}
	w.sweep()
	w.pass(7*24*time.Hour, false)
	w.wants()
	if state := w.LedgerState(); state.Behind != 1 || state.Slots != 1 {
		t.Errorf("%+v", state)
	}
	if _, err := w.Jobs.Resume(t.Context(), "default", "paused", "ann"); err != nil {
		t.Fatal(err)
	}
	w.wants() // the engine has not seen it yet
	w.sweep()
	w.wants()
	if state := w.LedgerState(); state.Behind != 0 || state.Slots < 7*24*6 {
		t.Errorf("%+v", state)
	}
}

func TestLedgerCheckReadsEachSlotOnce(t *testing.T) {
	w := newTide(t)
	w.PutJob(t, `{"name":"often","binary":"report","every":"1s"}`)
	w.PutJob(t, `{"name":"by-hand","binary":"report"}`)
	w.PutJob(t, `{"name":"delayed","binary":"report","after":"10s"}`)
	w.sweep()
	w.pass(2*time.Hour, false)
	w.wants()
	first := w.LedgerState().Slots
	if first < 2*3600-5 || first > 2*3600 {
		t.Errorf("%d slots were looked at, of two hours", first)
	}
	w.wants()
	w.pass(time.Minute, false)
	w.wants()
	if then := w.LedgerState().Slots - first; then < 55 || then > 65 {
		t.Errorf("%d slots were looked at after a minute", then)
	}
}

// A version that was replaced before the engine saw it owes nothing; the version that the engine continued with does.
func TestLedgerCheckFollowsEditsThatTheEngineSawLate(t *testing.T) {
	for _, policy := range []string{`{"policy":"none"}`, `{"policy":"last","window":"12h"}`, `{"policy":"all","window":"12h"}`} {
		w := newTide(t)
		definition := func(minutes int) string {
			return fmt.Sprintf(`{"name":"edited","binary":"report","schedule":"*/%d * * * *","overlap":"queue","catch_up":%s}`, minutes, policy)
		}
		w.PutJob(t, definition(10))
		w.sweep()
		w.pass(25*time.Minute, false)
		for _, minutes := range []int{7, 4, 13} { // while the engine is unavailable
			w.Now = w.Now.Add(47 * time.Minute)
			w.PutJob(t, definition(minutes))
		}
		w.Now = w.Now.Add(time.Hour)
		w.wants()
		w.restart()
		w.pass(3*time.Hour, false)
		w.wants()
		w.fresh()
		w.wants()
	}
}

// Whatever users do, whatever the engine's outages: nothing is missing.
func TestLedgerCheckFindsNothingWhereNothingIsLost(t *testing.T) {
	seeds := 150
	if testing.Short() {
		seeds = 20
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w, r := newTide(t), rand.New(rand.NewPCG(uint64(seed), 7))
			word := func(words ...string) string { return words[r.IntN(len(words))] }
			catchUp := func() string { // in both notations
				policy, window := word("none", "last", "all"), word("10m", "3h", "48h")
				if policy == "none" {
					return `{"policy": "none"}`
				}
				return fmt.Sprintf(`{"policy": %q, "window": %q}`, policy, window)
			}
			job := func() string {
				return fmt.Sprintf(`{"name":"job","binary":"report",%s,"overlap":%q,"catch_up":%s%s}`,
					word(`"schedule":"*/10 * * * *"`, `"schedule":"*/7 * * * *"`, `"schedule":"0 * * * *"`, `"every":"150s"`, `"timezone":"UTC"`, `"after":"5m"`, `"at":"2026-12-30T15:00:00Z"`),
					word("skip", "queue", "allow", "replace"), catchUp(),
					word("", `,"exclude":["20 * * * *"]`, `,"exclude":[{"from":"2026-11-20T12:30:00Z","to":"2026-11-20T16:00:00Z"}]`))
			}
			dag := func() string {
				return fmt.Sprintf("kind: DAG\nname: etl\ndefaults: {binary: report}\noverlap: %s\ncatch_up: %s\ntasks:\n  orders: {schedule: '*/%s * * * *'}\n  rates: {%s}\n  join: {needs: [orders, rates]}\n",
					word("skip", "queue"), catchUp(), word("5", "10", "20"), word("needs: [orders]", "schedule: '*/15 * * * *'", "schedule: '*/10 * * * *'"))
			}
			w.PutJob(t, job())
			w.PutDAG(t, dag())
			w.sweep()
			for range 40 {
				switch r.IntN(9) {
				case 0:
					w.PutJob(t, job())
				case 1:
					w.PutDAG(t, dag())
				case 2:
					_, err := w.Jobs.Pause(t.Context(), "default", "job", "ann", "")
					w.must(err)
				case 3:
					_, err := w.Jobs.Resume(t.Context(), "default", "job", "ann")
					w.must(err)
				case 4:
					_, err := w.DAGs.Pause(t.Context(), "default", "etl", "ann", "")
					w.must(err)
				case 5:
					_, err := w.DAGs.Resume(t.Context(), "default", "etl", "ann")
					w.must(err)
				case 6: // an outage, with edits in it
					w.Now = w.Now.Add(time.Duration(r.IntN(5*3600)) * time.Second)
					if r.IntN(2) == 0 {
						w.PutJob(t, job())
						w.PutDAG(t, dag())
						w.Now = w.Now.Add(time.Duration(r.IntN(3600)) * time.Second)
					}
					w.restart()
				default:
					w.pass(time.Duration(r.IntN(7200))*time.Second, r.IntN(3) == 0)
				}
				if r.IntN(4) > 0 {
					w.sweep()
				}
				if r.IntN(3) == 0 {
					w.wants()
				}
				if t.Failed() {
					return
				}
			}
			w.sweep()
			w.pass(time.Hour, false)
			w.wants()
			w.fresh()
			w.wants()
		})
	}
}
