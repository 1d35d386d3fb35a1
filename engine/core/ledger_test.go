package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
)

// ledger wants just these ranges in the store, newest first.
func (b *bench) ledger(want ...string) {
	b.t.Helper()
	ranges, _, err := b.store.Slots(b.t.Context(), engine.SlotFilter{JobUID: benchUID, Limit: 100})
	if err != nil {
		b.t.Fatal(err)
	}
	var got []string
	for i := range ranges {
		got = append(got, offset(ranges[i].From)+"-"+offset(ranges[i].To)+" "+string(ranges[i].Reason))
	}
	if !slices.Equal(got, want) {
		b.t.Errorf("the ledger says %q, and not %q", got, want)
	}
}

// A fixed delay passes over slots that are excluded, each as long after the previous one: the ledger has those, and nothing
// in between.
func TestSlotBetweenThoseOfAFixedDelayIsRecorded(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "after=2s", "exclude=0s-60s"})
	b.do([]string{"at", "3s"})
	b.do([]string{"quietly", "define", "every=5s"})
	for _, at := range []string{"4s", "6s"} { // the engine has not heard of the edit
		b.do([]string{"at", at})
	}
	b.load()
	b.ledger("5s-5s edited", "2s-6s blackout")
}

// An engine hears of an edit late, continues as before until then, and crashes. Meanwhile the job is edited once more: slots
// of the schedule that is there now have passed by that of two edits ago.
func TestASlotOfTheVersionTwoEditsAgoDoesNotComeAgain(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=1s", "exclude=0s-60s"})
	b.do([]string{"at", "2.5s"})
	b.do([]string{"quietly", "define", "every=20s"})
	b.do([]string{"at", "4s"})
	b.load()
	b.ledger("1s-4s blackout")
	b.now = b.seconds("3.5s") // it was written while the previous one was acted upon
	b.do([]string{"quietly", "define", "every=2s"})
	b.do([]string{"restart", "4.2s"})
	b.ledger("1s-4s blackout")
	if runs, err := b.store.RunsByID(t.Context(), []string{b.runID("4s")}); err != nil || len(runs) > 0 {
		t.Errorf("there is %+v, %v", runs, err)
	}
}

// The same where the version between is a fixed delay, which counts from the end of a run that continues.
func TestSlotOfAScheduleBeforeAFixedDelayIsRecordedOnce(t *testing.T) {
	b := newBench(t)
	for _, line := range [][]string{
		{"define", "every=5s"}, {"at", "5s"}, {"started", "5s/1"}, {"at", "8s"}, {"quietly", "define", "after=3s"}, {"at", "10s"},
	} {
		b.do(line)
	}
	b.load()
	b.now = b.seconds("9s") // it was written while the previous one was acted upon
	b.do([]string{"quietly", "define", "every=5s"})
	b.now = b.seconds("11s")
	b.load()
	b.ledger("10s-10s overlap")
}

// Two edits are written before the engine sees the first. Until it does it continues with the previous schedule, which has a run of
// 5s: the slots of the last schedule from its own edit on are in the ledger, whatever the edit between planned.
func TestSlotsSinceTheSecondOfTwoEditsAreRecorded(t *testing.T) {
	for _, between := range [][]string{{"define", "every=20s"}, {"define"}, {"define", "after=20s"}, {"define", "every=2s"}} {
		b := newBench(t)
		b.do([]string{"define", "every=5s"})
		b.do([]string{"at", "4.75s"})
		b.now = b.seconds("2.5s") // it is seen late
		b.do(append([]string{"quietly"}, between...))
		b.now = b.seconds("5s")
		b.do([]string{"at", "5s"})
		b.load()
		b.now = b.seconds("2.7s") // it was written while the previous one was read
		b.do([]string{"quietly", "define", "every=1s"})
		b.now = b.seconds("5.2s")
		b.load()
		if between[len(between)-1] == "every=2s" {
			b.ledger("4s-4s edited", "3s-3s edited")
			continue
		}
		b.ledger("3s-4s edited")
	}
}

// A task remembers a bounded number of slots. None that it has forgotten is recorded once more.
func TestNoSlotIsRecordedTwiceThatATaskHasForgotten(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=1s", "exclude=0s-100s"})
	b.do([]string{"at", "60s"})
	for _, every := range []string{"every=20s", "every=2s"} { // both are seen late
		b.now = b.seconds("1.5s")
		b.do([]string{"quietly", "define", every})
		b.now = b.seconds("60s")
		b.load()
	}
	b.ledger("1s-60s blackout")
}

// TestARangeOfTheScheduleBeforeIsNoneOfThePresentOne: it is as long, and begins and ends at slots that both have.
func TestARangeOfTheScheduleBeforeIsNoneOfThePresentOne(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "schedule=*/5_*_*_*_*", "catchup=none"})
	b.do([]string{"at", "8m"})
	b.do([]string{"quietly", "define", "schedule=5,12,15_*_*_*_*", "catchup=none"})
	b.do([]string{"at", "17m"}) // it has not heard of the edit
	b.ledger("300s-900s outage")
	b.load()
	b.ledger("720s-720s edited", "300s-900s outage")
}

// TestNoSlotOfAFixedDelayIsRecordedTwice: the wall clock went back behind runs of a fixed delay, and an edit names the instants of
// these.
func TestNoSlotOfAFixedDelayIsRecordedTwice(t *testing.T) {
	b := newBench(t)
	for _, line := range [][]string{
		{"define", "after=3s", "overlap=queue"}, {"at", "3s"}, {"started", "3s/1"}, {"finished", "3s/1", "0"},
		{"at", "6s"}, {"started", "6s/1"}, {"finished", "6s/1", "0"}, {"back", "5s"}, {"quietly", "define", "every=1s"},
	} {
		b.do(line)
	}
	b.out = nil
	b.do([]string{"restart", "5s"})
	if said := strings.Join(b.out, "\n"); !strings.Contains(said, "4s-5s ×2 skipped edited") {
		t.Errorf("the slots between are recorded otherwise:\n%s", said)
	}
}

// An edit is seen so late that more slots have passed since it than a task remembers: the previous schedule still says which.
func TestSlotsSinceAnEditThatIsSeenVeryLateAreRecorded(t *testing.T) {
	b := newBench(t)
	b.do([]string{"define", "every=1s", "exclude=0s-1000s"})
	b.do([]string{"at", "1s"})
	b.do([]string{"quietly", "define", "every=7500ms"})
	b.do([]string{"at", "60s"})
	b.load()
	b.ledger("52.5s-52.5s edited", "37.5s-37.5s edited", "22.5s-22.5s edited", "7.5s-7.5s edited", "1s-60s blackout")
}

// TestARangeOfTheLedgerIsOfOneGeneration: the schedule of its generation notifies which slots a range has. Those before and after an edit
// would follow each other by the previous schedule.
func TestARangeOfTheLedgerIsOfOneGeneration(t *testing.T) {
	b := newBench(t)
	for _, line := range [][]string{
		{"define", "every=2s", "overlap=skip"}, {"at", "2s"}, {"started", "2s/1"}, {"at", "6s"},
		{"define", "every=2s", "overlap=skip", "tries=2"}, {"at", "10s"},
	} {
		b.do(line)
	}
	ranges, _, err := b.store.Slots(t.Context(), engine.SlotFilter{JobUID: benchUID, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range ranges {
		r := &ranges[i]
		got = append(got, fmt.Sprintf("generation %d: %d from %s", r.Generation, r.Count, r.From.Sub(benchStart)))
	}
	if want := []string{"generation 2: 2 from 8s", "generation 1: 2 from 4s"}; !slices.Equal(got, want) {
		t.Errorf("the ledger has %q, want %q", got, want)
	}
}
