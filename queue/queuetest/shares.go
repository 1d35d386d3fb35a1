package queuetest

import (
	"testing"

	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
)

var shares = map[string]func(*testing.T, Harness){
	"premium goes four times for each standard with one slot":      func(t *testing.T, h Harness) { share(t, h, 1) },
	"premium goes four times for each standard with several slots": func(t *testing.T, h Harness) { share(t, h, 7) },
	"standard has all slots while no premium waits":                shareAlone,
	"tiers share an executor whose own they all are":               shareTiers,
	"a heavier task is taken while lighter ones keep coming":       shareNoStarvation,
	"a task that was given back waits, and does not look taken":    shareGivenBack,
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

// pullAll is an executor whose own all tiers are.
func pullAll(t *testing.T, q Queue, slots int) *puller {
	t.Helper()
	return pullWith(t, q, executor.PullConfig{Executor: "x", Tiers: []spec.Tier{spec.TierLight, spec.TierMedium, spec.TierHeavy}, ShareTiers: true, Slots: slots})
}

func shareTiers(t *testing.T, h Harness) {
	q := h.Connect(t)
	const each = 120
	for range each {
		for _, tier := range []spec.Tier{spec.TierLight, spec.TierMedium, spec.TierHeavy} {
			publish(t, q, newTask(tier, spec.ClassStandard))
		}
	}
	executors := pullAll(t, q, 4)
	for range 16 { // until it knows that work waits
		executors.next(t).finish(t)
	}
	taken := make(map[spec.Tier]int)
	for range 140 {
		got := executors.next(t)
		taken[got.task.Tier]++
		got.finish(t)
	}
	for tier, share := range map[spec.Tier]int{spec.TierLight: 80, spec.TierMedium: 40, spec.TierHeavy: 20} {
		if got := taken[tier]; got < share-10 || got > share+10 {
			t.Errorf("%d of 140 tasks were %s, want about %d", got, tier, share)
		}
	}
}

// All slots are taken by light work, of which there is always more. A medium and a heavy task come meanwhile.
func shareNoStarvation(t *testing.T, h Harness) {
	q := h.Connect(t)
	executors := pullAll(t, q, 4)
	await(t, "the executor waits at each tier", func() bool {
		return depth(t, q, spec.TierMedium, spec.ClassStandard).Pulls == 1 && depth(t, q, spec.TierHeavy, spec.ClassPremium).Pulls == 1
	})
	for range 100 {
		publish(t, q, newTask(spec.TierLight, spec.ClassStandard))
	}
	var busy []*taken
	for range 4 {
		busy = append(busy, executors.next(t))
	}
	publish(t, q, newTask(spec.TierMedium, spec.ClassStandard))
	publish(t, q, newTask(spec.TierHeavy, spec.ClassPremium))
	left := map[spec.Tier]bool{spec.TierMedium: true, spec.TierHeavy: true}
	for n := 0; len(left) > 0; n++ {
		if n == 90 {
			t.Fatalf("after %d light tasks these still wait: %v", n, left)
		}
		busy[0].finish(t)
		got := executors.next(t)
		delete(left, got.task.Tier)
		busy = append(busy[1:], got)
	}
}

// An executor without a free slot gives back what a request of before brings it.
func shareGivenBack(t *testing.T, h Harness) {
	q := h.Connect(t)
	executors := pullAll(t, q, 1)
	await(t, "the executor waits at each tier", func() bool {
		return depth(t, q, spec.TierMedium, spec.ClassStandard).Pulls == 1 && depth(t, q, spec.TierLight, spec.ClassStandard).Pulls == 1
	})
	publish(t, q, newTask(spec.TierLight, spec.ClassStandard))
	busy := executors.next(t)
	publish(t, q, newTask(spec.TierMedium, spec.ClassStandard))
	await(t, "it is given back, and no executor asks for it", func() bool {
		d := depth(t, q, spec.TierMedium, spec.ClassStandard)
		return d.Claimed == 1 && d.Pulls == 0
	})
	if d := depth(t, q, spec.TierMedium, spec.ClassStandard); d.Waiting != 1 || d.Oldest.IsZero() {
		t.Errorf("got %+v, want one that waits", d)
	}
	busy.finish(t)
	executors.next(t).finish(t)
	await(t, "nothing is left", func() bool { return depth(t, q, spec.TierMedium, spec.ClassStandard).Waiting == 0 })
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
