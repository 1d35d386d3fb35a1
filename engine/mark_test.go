package engine

import (
	"testing"
	"time"
)

func TestSlotOfIsWhatSlotRunIDWasMadeOf(t *testing.T) {
	for _, slot := range []time.Time{time.UnixMilli(0).UTC(), time.Date(2026, 11, 21, 9, 0, 0, 7e6, time.UTC), time.UnixMilli(-5).UTC()} {
		if got, ok := SlotOf(SlotRunID("abcdefghijklmnop", slot)); !ok || !got.Equal(slot) {
			t.Errorf("%s: %s %v", slot, got, ok)
		}
	}
	for _, id := range []string{"", "abc", "abc-", "abc-s", "abc-sx", ManualRunID("abcdefghijklmnop", "key")} {
		if slot, ok := SlotOf(id); ok {
			t.Errorf("%q has no slot, got %s", id, slot)
		}
	}
}

func TestMarkContainsDurationAndLag(t *testing.T) {
	slot := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	run := Run{ID: "a-s1", Status: StatusSucceeded, Trigger: TriggerSchedule, Slot: slot, StartedAt: slot.Add(time.Second), FinishedAt: slot.Add(3 * time.Second)}
	mark := run.Mark()
	if took, ok := mark.Took(); !ok || took != 2*time.Second {
		t.Errorf("took %s %v", took, ok)
	}
	if lag, ok := mark.Lag(); !ok || lag != time.Second {
		t.Errorf("lag %s %v", lag, ok)
	}
	mark.Trigger = TriggerCatchUp
	if lag, ok := mark.Lag(); ok {
		t.Errorf("a slot caught up has no lag, got %s", lag)
	}
	mark.Status = StatusRunning
	if took, ok := mark.Took(); ok {
		t.Errorf("what runs has taken nothing yet, got %s", took)
	}
}
