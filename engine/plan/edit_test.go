package plan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/plan"
)

// After an edit to a fixed delay, no slot of the schedule before comes again, also where the wall clock has gone back.
func TestAFixedDelayBeginsAfterWhatWasAccountedFor(t *testing.T) {
	schedule, err := cron.Compile(cron.Definition{After: 3 * time.Second, Timezone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	edited := time.Date(2026, 10, 25, 0, 59, 37, 0, time.UTC)
	for _, accounted := range []time.Duration{-time.Minute, 28 * time.Second} {
		task := &engine.ScheduledTask{Accounted: edited.Add(accounted)}
		_, slot, ok := plan.AfterEdit(schedule, nil, task, edited)
		if want := edited.Add(max(accounted, 0) + 3*time.Second); !ok || !slot.Equal(want) {
			t.Errorf("with slots up to %s it begins at %s, want %s", task.Accounted, slot, want)
		}
	}
}

// The wall clock went back behind slots that are accounted for, and an edit names others among these: they are recorded, also those that
// lie ahead.
func TestAnEditRecordsTheSlotsThatAClockHasPassedBefore(t *testing.T) {
	edited := time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC)
	compile := func(every string) *cron.Schedule {
		schedule, err := cron.Compile(cron.Definition{Cron: []string{every}, Timezone: "UTC", Since: edited})
		if err != nil {
			t.Fatal(err)
		}
		return schedule
	}
	task := &engine.ScheduledTask{Accounted: edited.Add(5 * time.Minute), Slot: edited.Add(10 * time.Minute)}
	away, slot, ok := plan.AfterEdit(compile("*/2 * * * *"), compile("*/5 * * * *"), task, edited)
	want := []time.Time{edited.Add(2 * time.Minute), edited.Add(4 * time.Minute)}
	if !slices.EqualFunc(away, want, time.Time.Equal) || !ok || !slot.Equal(edited.Add(6*time.Minute)) {
		t.Errorf("it records %v, and begins at %s", away, slot)
	}
}

// A schedule was made, the wall clock went back behind that, and edits follow: their slots are recorded from the edits on, not from when
// the schedule was made.
func TestAnEditCountsFromItsOwnTimeThoughTheClockWentBack(t *testing.T) {
	made := time.Date(2026, 10, 25, 0, 59, 23, 0, time.UTC)
	task := &engine.ScheduledTask{Since: made}
	plan.Remember(task, nil, made.Add(-19*time.Second)) // nothing is accounted for yet
	if want := made.Add(-19 * time.Second); !task.Since.Equal(want) {
		t.Errorf("slots are recorded from %s on, want %s", task.Since, want)
	}
	task.Accounted = made
	plan.Remember(task, nil, made.Add(-30*time.Second))
	if want := made.Add(-19 * time.Second); !task.Since.Equal(want) {
		t.Errorf("with slots accounted for, slots are recorded from %s on, want %s", task.Since, want)
	}
}

// A backfill has taken a slot ahead of the schedule, which passes it then. An edit that is older than the slot does not plan it again.
func TestAnEditDoesNotPlanASlotThatABackfillHadTaken(t *testing.T) {
	noon := time.Date(2026, 6, 17, 12, 0, 0, 0, time.UTC)
	schedule, err := cron.Compile(cron.Definition{Cron: []string{"*/5 * * * * *"}, Timezone: "UTC", Since: noon})
	if err != nil {
		t.Fatal(err)
	}
	task := &engine.ScheduledTask{Accounted: noon.Add(20 * time.Second), Slot: noon.Add(25 * time.Second)}
	plan.Take(task, noon.Add(25*time.Second))
	plan.Take(task, noon.Add(30*time.Second))
	task.Slot = noon.Add(35 * time.Second)
	plan.Forget(task, schedule)
	if _, slot, ok := plan.AfterEdit(schedule, schedule, task, noon.Add(12*time.Second)); !ok || !slot.Equal(noon.Add(35*time.Second)) {
		t.Errorf("after the edit the next slot is %s", slot)
	}
}
