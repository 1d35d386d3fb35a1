package core_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/spec"
)

// TestOutageOverADayOnWhichTheClockChanges: an engine is unavailable over the night in which the clocks of Berlin go forward or
// back, and accounts for exactly the slots that the wall clock shows: the one in the gap once, at its end, and of the
// hour that comes twice, those of a fixed hour once and those of every hour both times.
func TestOutageOverADayOnWhichTheClockChanges(t *testing.T) {
	spring := time.Date(2026, 3, 28, 22, 0, 0, 0, time.UTC) // 23:00 in Berlin; at 02:00 it becomes 03:00
	autumn := time.Date(2026, 10, 24, 21, 0, 0, 0, time.UTC)
	for _, night := range []struct {
		name, schedule string
		since          time.Time
		none, last     string // what happens to the slots until 6 hours later, by policy
	}{
		{
			"gap, fixed hour", "30 2 * * *", spring,
			"missed 01:00Z 1", "catch_up 01:00Z",
		},
		{
			"gap, every half hour", "*/30 * * * *", spring,
			"missed 22:30Z 11", "missed 22:30Z 10, catch_up 03:30Z",
		},
		{
			"repeat, fixed hour", "30 2 * * *", autumn,
			"missed 00:30Z 1", "catch_up 00:30Z",
		},
		{
			"repeat, every hour at half past", "30 * * * *", autumn,
			"missed 21:30Z 6", "missed 21:30Z 5, catch_up 02:30Z",
		},
	} {
		for policy, want := range map[spec.CatchUpPolicy]string{spec.CatchUpNone: night.none, spec.CatchUpLast: night.last} {
			t.Run(fmt.Sprintf("job, %s, %s", night.name, policy), func(t *testing.T) {
				if got := outageOfJob(t, night.schedule, policy, night.since); got != want {
					t.Errorf("the slots became %s, want %s", got, want)
				}
			})
			t.Run(fmt.Sprintf("root, %s, %s", night.name, policy), func(t *testing.T) {
				if got := outageOfRoot(t, night.schedule, policy, night.since); got != want {
					t.Errorf("the slots became %s, want %s", got, want)
				}
			})
		}
	}
}

// nightOf is how long the engine is unavailable.
const nightOf = 6*time.Hour - 15*time.Minute

// outageOfJob makes a job, takes the engine away at once, and returns what it makes of the night when it is back.
func outageOfJob(t *testing.T, schedule string, policy spec.CatchUpPolicy, since time.Time) string {
	b := newBench(t)
	b.now = since
	job := spec.Job{Name: "job", Binary: "tool", Schedule: []string{schedule}, Timezone: "Europe/Berlin"}
	job.CatchUp.Policy, job.CatchUp.Window = policy, spec.Duration(24*time.Hour)
	job.ApplyDefaults()
	b.job = engine.Job{
		UID: benchUID, Namespace: "default", Name: "job", Shard: benchShard, Spec: job,
		Generation: 1, Revision: 1, Pending: true, CreatedAt: since, UpdatedAt: since,
	}
	if err := b.store.Jobs().Create(t.Context(), b.job); err != nil {
		t.Fatal(err)
	}
	b.load()
	b.now = since.Add(nightOf)
	b.core = core.NewCore(b.config, b.now, rand.New(rand.NewPCG(1, 1)))
	b.load()
	ranges, _, err := b.store.Slots(t.Context(), engine.SlotFilter{JobUID: benchUID, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	runs, _, err := b.store.Runs(t.Context(), engine.RunFilter{JobUID: benchUID, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	return became(ranges, runs)
}

func outageOfRoot(t *testing.T, schedule string, policy spec.CatchUpPolicy, since time.Time) string {
	b := newWaveBench(t, "kind: DAG\nname: none\ndefaults: {binary: work}\ntasks: {a: {}}\n")
	b.dag.UID, b.dag.CreatedAt = "", time.Time{}
	b.now = since
	b.restart()
	b.dag.UID = waveUID
	b.define(fmt.Sprintf("kind: DAG\nname: etl\ntimezone: Europe/Berlin\ndefaults: {binary: work}\ncatch_up: %s\ntasks: {a: {schedule: %q}}\n",
		catchUp(string(policy), "24h"), schedule))
	b.away(nightOf)
	var ranges []engine.SlotRange
	for _, id := range sortedKeys(b.slots) {
		ranges = append(ranges, b.slots[id])
	}
	var runs []engine.Run
	for _, id := range sortedKeys(b.runs) {
		runs = append(runs, b.runs[id])
	}
	return became(ranges, runs)
}

func sortedKeys[V any](of map[string]V) (keys []string) {
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func became(ranges []engine.SlotRange, runs []engine.Run) string {
	var all []string
	for i := range ranges {
		all = append(all, fmt.Sprintf("%s %s %d", ranges[i].Outcome, ranges[i].From.Format("15:04Z"), ranges[i].Count))
	}
	for i := range runs {
		all = append(all, fmt.Sprintf("%s %s", runs[i].Trigger, runs[i].Slot.Format("15:04Z")))
	}
	return strings.Join(all, ", ")
}
