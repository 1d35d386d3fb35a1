package plan_test

import (
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
		_, slot, ok := plan.AfterEdit(schedule, nil, task, edited, edited)
		if want := edited.Add(max(accounted, 0) + 3*time.Second); !ok || !slot.Equal(want) {
			t.Errorf("with slots up to %s it begins at %s, want %s", task.Accounted, slot, want)
		}
	}
}
