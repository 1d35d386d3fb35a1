package queuetest

import (
	"testing"

	"github.com/tidewheel/tidewheel/spec"
)

var shares = map[string]func(*testing.T, Harness){
	"premium goes four times for each standard with one slot":      func(t *testing.T, h Harness) { share(t, h, 1) },
	"premium goes four times for each standard with several slots": func(t *testing.T, h Harness) { share(t, h, 7) },
	"standard has all slots while no premium waits":                shareAlone,
	"an executor's own tier goes before those it helps":            shareOwnTier,
	"a lower executor that waits is served before a helping one":   sharePriority,
}

func share(t *testing.T, h Harness, slots int) {
	q := h.Connect(t)
	const each = 120
	for range each {
		publish(t, q, newTask(spec.TierLight, spec.ClassPremium))
		publish(t, q, newTask(spec.TierLight, spec.ClassStandard))
	}
	executors := pull(t, q, slots, spec.TierLight)
	var taken, premium int
	for range 4 * slots { // until it knows that work waits
		executors.next(t).finish(t)
	}
	for ; taken < 100; taken++ {
		got := executors.next(t)
		if got.task.Class == spec.ClassPremium {
			premium++
		}
		got.finish(t)
	}
	const least, most = 74, 86
	if premium < least || premium > most {
		t.Errorf("%d of %d tasks were premium, want about 80", premium, taken)
	}
	executors.stop()
}

func shareAlone(t *testing.T, h Harness) {
	q := h.Connect(t)
	const count = 200
	for range count {
		publish(t, q, newTask(spec.TierLight, spec.ClassStandard))
	}
	executors := pull(t, q, 4, spec.TierLight)
	for range count {
		executors.next(t).finish(t)
	}
}

func shareOwnTier(t *testing.T, h Harness) {
	q := h.Connect(t)
	for range 20 {
		publish(t, q, newTask(spec.TierLight, spec.ClassPremium))
		publish(t, q, newTask(spec.TierHeavy, spec.ClassStandard))
	}
	// The server counts what waits a little after it has stored it, and an executor helps where it counts nothing.
	await(t, "the tasks are counted", func() bool {
		return depth(t, q, spec.TierHeavy, spec.ClassStandard).Waiting == 20
	})
	executors := pull(t, q, 1, spec.TierHeavy, spec.TierMedium, spec.TierLight)
	helped := 0
	for range 20 {
		got := executors.next(t)
		if got.task.Tier == spec.TierLight {
			helped++
		}
		got.finish(t)
	}
	if helped > 0 {
		t.Errorf("%d of the first 20 tasks were of a tier that it helps, want none", helped)
	}
	for range 20 { // and then it does help
		executors.next(t).finish(t)
	}
}

func sharePriority(t *testing.T, h Harness) {
	q := h.Connect(t)
	helping := pull(t, q, 1, spec.TierHeavy, spec.TierMedium, spec.TierLight)
	standing := func(n int) func() bool {
		return func() bool {
			return depth(t, q, spec.TierLight, spec.ClassStandard).Pulls == n && depth(t, q, spec.TierLight, spec.ClassPremium).Pulls == n
		}
	}
	await(t, "the helping executor waits", standing(1))
	own := pull(t, h.Connect(t), 1, spec.TierLight)
	for i := range 10 {
		await(t, "both executors wait", standing(2))
		task := newTask(spec.TierLight, []spec.Class{spec.ClassStandard, spec.ClassPremium}[i%2])
		publish(t, q, task)
		own.next(t).finish(t)
	}
	if len(helping.given) > 0 {
		t.Fatal("the helping executor was served first")
	}
	await(t, "both executors wait", standing(2))
	publish(t, q, newTask(spec.TierLight, spec.ClassStandard))
	busy := own.next(t)
	publish(t, q, newTask(spec.TierLight, spec.ClassStandard))
	helping.next(t).finish(t)
	busy.finish(t)
}
