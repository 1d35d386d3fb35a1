package service_test

import (
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func tiers(names ...spec.Tier) []spec.Tier { return names }

// A job at midnight in Dhaka, which is 18:00 of the day before in UTC: its runs are made before midnight, and count for
// the day after it.
func TestCalendarCountsSlotsInTheirZone(t *testing.T) {
	w := webtest.New(t) // noon of 20 November
	w.PutBinary(t, "report")
	job := w.PutJob(t, `{"name":"a","binary":"report","schedule":"0 0 * * *","timezone":"Asia/Dhaka"}`)
	slot := func(day int) time.Time { return time.Date(2026, 11, day-1, 18, 0, 0, 0, time.UTC) }
	put := func(day int, status engine.Status, made time.Time) {
		run := w.Running(job, slot(day))
		run.CreatedAt = made
		w.PutRun(t, run)
		w.PutRun(t, webtest.Ended(run, status, ""))
	}
	put(1, engine.StatusSucceeded, slot(1).Add(-30*time.Second))
	put(2, engine.StatusDead, slot(2).Add(-30*time.Second))
	put(3, engine.StatusSucceeded, slot(19)) // backfilled
	put(4, engine.StatusCancelled, slot(4))
	byHand := w.Running(job, slot(5).Add(time.Hour))
	byHand.ID, byHand.Slot, byHand.CreatedAt = engine.ManualRunID(job.UID, "x"), time.Time{}, slot(5).Add(time.Hour)
	w.PutRun(t, byHand)
	put(30, engine.StatusSucceeded, slot(30)) // of another, to come: not looked at by its id
	w.Write(t, engine.Batch{Slots: []engine.SlotRange{{
		ID: engine.SlotRangeID(job.UID, slot(6)), JobUID: job.UID, Namespace: "default", Job: "a", From: slot(6), To: slot(9), Count: 4,
		Outcome: engine.OutcomeMissed, Reason: engine.ReasonOutage,
	}, {
		ID: engine.SlotRangeID(job.UID, slot(10)), JobUID: job.UID, Namespace: "default", Job: "a", From: slot(10), To: slot(10), Count: 1,
		Outcome: engine.OutcomeSkipped, Reason: engine.ReasonPaused,
	}}})
	calendar, err := w.Jobs.Calendar(t.Context(), &job, "", w.Now, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(calendar.Days) != 30 || calendar.Zone.String() != "Asia/Dhaka" || !calendar.Days[0].From.Equal(slot(1)) {
		t.Fatalf("%d days in %s, from %s", len(calendar.Days), calendar.Zone, calendar.Days[0].From)
	}
	type day struct{ good, bad, other, hand, skipped, missed, planned int }
	for i, got := range calendar.Days {
		want := day{}
		switch n := i + 1; {
		case n == 1 || n == 3:
			want.good = 1
		case n == 2:
			want.bad = 1
		case n == 4:
			want.other = 1
		case n == 5:
			want.hand = 1
		case n >= 6 && n <= 9:
			want.missed = 1
		case n == 10:
			want.skipped = 1
		case n == 30:
			want.good, want.planned = 1, 1
		case n > 20:
			want.planned = 1
		}
		if have := (day{got.Good, got.Bad, got.Other, got.ByHand, int(got.Skipped), int(got.Missed), got.Planned}); have != want {
			t.Errorf("day %d: %+v, want %+v", i+1, have, want)
		}
	}
	for n, want := range map[int]service.LedgerEntry{
		2: {Outcome: "fired", Status: engine.StatusDead}, 3: {Outcome: "fired", Status: engine.StatusSucceeded}, 7: {Outcome: "missed", Reason: "outage"},
	} {
		entries, more, err := w.Jobs.DaySlots(t.Context(), &job, "", calendar.Days[n-1], 100)
		if err != nil || more || len(entries) != 1 || entries[0].Outcome != want.Outcome || entries[0].Status != want.Status {
			t.Errorf("day %d: %+v %v %v", n, entries, more, err)
		}
	}
}

// In the zone's shortest and longest days of the year no slot is lost between two days.
func TestCalendarKeepsDaysWhole(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	job := w.PutJob(t, `{"name":"a","binary":"report","schedule":"30 * * * *","timezone":"Europe/Amsterdam"}`)
	for month, want := range map[time.Month]int{time.March: 31*24 - 1, time.October: 31*24 + 1, time.June: 30 * 24} {
		calendar, err := w.Jobs.Calendar(t.Context(), &job, "", time.Date(2027, month, 15, 0, 0, 0, 0, time.UTC), nil)
		if err != nil {
			t.Fatal(err)
		}
		planned := 0
		for i, day := range calendar.Days {
			planned += day.Planned
			if i > 0 && !day.From.Equal(calendar.Days[i-1].Until) {
				t.Errorf("%s: day %d begins at %s, the one before ends at %s", month, i+1, day.From, calendar.Days[i-1].Until)
			}
		}
		if planned != want {
			t.Errorf("%s has %d slots, want %d", month, planned, want)
		}
	}
}

// The run of the first slot of a month is made before the month begins.
func TestCalendarOfARootCountsTheFirstSlotOfTheMonth(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	dag := w.PutDAG(t, "kind: DAG\nname: etl\ntimezone: Asia/Dhaka\ntasks:\n  orders: {binary: report, schedule: \"0 0 * * *\"}\n  other: {binary: report, needs: [orders]}\n")
	dag.CreatedAt = webtest.Start.AddDate(0, -1, 0)
	first := time.Date(2026, 10, 31, 18, 0, 0, 0, time.UTC)
	for i, slot := range []time.Time{first, first.AddDate(0, 0, 1)} {
		wave := w.OpenWave(dag, int64(i+1), slot)
		w.PutWave(t, wave)
		run := w.TaskRun(wave, "orders", engine.StatusSucceeded)
		run.Trigger, run.Slot, run.CreatedAt = engine.TriggerSchedule, slot, slot.Add(-30*time.Second)
		w.PutRun(t, run)
	}
	calendar, err := w.DAGs.Calendar(t.Context(), &dag, "", w.Now, nil)
	if err != nil || len(calendar.Days) != 30 {
		t.Fatalf("%d days, %v", len(calendar.Days), err)
	}
	for i, day := range calendar.Days {
		want := 0
		if i < 2 {
			want = 1
		}
		if day.Good != want || day.Planned > 0 != (i >= 20) {
			t.Errorf("day %d: %d good, %d planned", i+1, day.Good, day.Planned)
		}
	}
	entries, more, err := w.DAGs.DaySlots(t.Context(), &dag, "orders", calendar.Days[0], 10)
	if err != nil || more || len(entries) != 1 || !entries[0].From.Equal(first) {
		t.Errorf("%+v %v %v", entries, more, err)
	}
}
