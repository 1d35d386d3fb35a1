package queuetest

import (
	"maps"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

var pools = map[string]func(*testing.T, Harness){
	"a task goes only to who has its labels":                       poolOnly,
	"an executor that comes later gets what waits for its labels":  poolLater,
	"an executor hears of labels that are new":                     poolNew,
	"premium goes first among tasks with labels, too":              poolShare,
	"tasks with labels and without take turns":                     poolTurns,
	"an executor's own tier goes first with labels, too":           poolOwnTier,
	"of tasks with labels each goes to one of those who have them": poolBurst,
	"what waits for labels counts for its tier":                    poolDepths,
	"a revoked task with labels is gone from the queue":            poolRevoked,
	"what was kept for labels goes when no task needs them":        poolSwept,
}

type labels = map[string]string

var gpu = labels{"gpu": "true"}

// wanting is a task that asks for labels.
func wanting(runsOn labels, tier spec.Tier, class spec.Class) *engine.Task {
	task := newTask(tier, class)
	task.RunsOn = runsOn
	return task
}

// poolDepth is what one tier and class holds for some labels.
func poolDepth(t *testing.T, q Queue, tier spec.Tier, class spec.Class, runsOn labels) (found engine.PoolDepth) {
	t.Helper()
	for _, p := range depth(t, q, tier, class).Pools {
		if maps.Equal(p.RunsOn, runsOn) {
			found = p
		}
	}
	return found
}

func poolOnly(t *testing.T, h Harness) {
	q := h.Connect(t)
	have := []labels{nil, {"zone": "a"}, {"gpu": "true", "zone": "a"}, {"gpu": "false", "zone": "b"}}
	var executors []*puller
	for _, one := range have {
		executors = append(executors, pullAs(t, h.Connect(t), 2, one, spec.TierMedium, spec.TierLight))
	}
	asked := []labels{nil, {"zone": "a"}, gpu, {"gpu": "true", "zone": "a"}, {"zone": "b"}}
	const each = 10
	for i := range each {
		for _, runsOn := range asked {
			publish(t, q, wanting(runsOn, []spec.Tier{spec.TierLight, spec.TierMedium}[i%2], []spec.Class{spec.ClassStandard, spec.ClassPremium}[i/2%2]))
		}
	}
	seen := make(map[string]bool)
	for range each * len(asked) {
		var got *taken
		var who labels
		select {
		case got = <-executors[0].given:
			who = have[0]
		case got = <-executors[1].given:
			who = have[1]
		case got = <-executors[2].given:
			who = have[2]
		case got = <-executors[3].given:
			who = have[3]
		case <-patient(t).Done():
			t.Fatalf("%d of %d tasks were delivered", len(seen), each*len(asked))
		}
		if !spec.Satisfies(who, got.task.RunsOn) {
			t.Errorf("a task for %v went to %v", got.task.RunsOn, who)
		}
		if seen[got.task.Run] {
			t.Errorf("run %s came twice", got.task.Run)
		}
		seen[got.task.Run] = true
		got.finish(t)
	}
}

func poolLater(t *testing.T, h Harness) {
	q := h.Connect(t)
	without := pullAs(t, h.Connect(t), 1, labels{"gpu": "false"}, spec.TierLight)
	task := wanting(gpu, spec.TierLight, spec.ClassStandard)
	publish(t, q, task)
	await(t, "the task is counted", func() bool { return depth(t, q, spec.TierLight, spec.ClassStandard).Waiting == 1 })
	plain := newTask(spec.TierLight, spec.ClassStandard)
	publish(t, q, plain)
	if got := without.next(t); got.task.Run != plain.Run {
		t.Fatalf("got run %s, want %s", got.task.Run, plain.Run)
	} else {
		got.finish(t)
	}
	with := pullAs(t, h.Connect(t), 1, gpu, spec.TierLight)
	got := with.next(t)
	if got.task.Run != task.Run || !maps.Equal(got.task.RunsOn, gpu) {
		t.Fatalf("got %+v, want run %s", got.task, task.Run)
	}
	got.finish(t)
}

func poolNew(t *testing.T, h Harness) {
	q := h.Connect(t)
	executor := pullAs(t, h.Connect(t), 1, labels{"gpu": "true", "zone": "a"}, spec.TierLight)
	begun := time.Now()
	for _, runsOn := range []labels{gpu, {"zone": "a"}, gpu, {"gpu": "true", "zone": "a"}} {
		task := wanting(runsOn, spec.TierLight, spec.ClassPremium)
		publish(t, q, task)
		if got := executor.next(t); got.task.Run != task.Run {
			t.Fatalf("got run %s, want %s", got.task.Run, task.Run)
		} else {
			got.finish(t)
		}
	}
	// It is notified, and does not only find them at its next read.
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("new labels were served after %s", took)
	}
}

func poolShare(t *testing.T, h Harness) {
	q := h.Connect(t)
	const each = 120
	for range each {
		publish(t, q, wanting(gpu, spec.TierLight, spec.ClassPremium))
		publish(t, q, wanting(gpu, spec.TierLight, spec.ClassStandard))
	}
	executors := pullAs(t, q, 3, gpu, spec.TierLight)
	for range 12 { // until it knows that work waits
		executors.next(t).finish(t)
	}
	premium := 0
	for range 100 {
		got := executors.next(t)
		if got.task.Class == spec.ClassPremium {
			premium++
		}
		got.finish(t)
	}
	if premium < 74 || premium > 86 {
		t.Errorf("%d of 100 tasks were premium, want about 80", premium)
	}
}

func poolTurns(t *testing.T, h Harness) {
	q := h.Connect(t)
	for range 400 {
		publish(t, q, newTask(spec.TierLight, spec.ClassStandard))
		publish(t, q, wanting(gpu, spec.TierLight, spec.ClassStandard))
		publish(t, q, wanting(labels{"zone": "a"}, spec.TierLight, spec.ClassStandard))
	}
	for _, slots := range []int{1, 5} {
		executors := pullAs(t, h.Connect(t), slots, labels{"gpu": "true", "zone": "a"}, spec.TierLight)
		took := make(map[string]int)
		next := func() {
			got := executors.next(t)
			took[spec.RunsOnText(got.task.RunsOn)]++
			got.finish(t)
		}
		for len(took) < 3 { // until it knows of the labels, which it has to look for
			next()
		}
		clear(took)
		for range 60 {
			next()
		}
		for _, of := range []string{"", "gpu=true", "zone=a"} {
			if took[of] < 12 {
				t.Errorf("with %d slots, %d of 60 tasks were for %q, want about 20", slots, took[of], of)
			}
		}
		executors.stop()
	}
}

func poolOwnTier(t *testing.T, h Harness) {
	q := h.Connect(t)
	for range 10 {
		publish(t, q, wanting(gpu, spec.TierLight, spec.ClassPremium))
		publish(t, q, newTask(spec.TierLight, spec.ClassPremium))
		publish(t, q, wanting(gpu, spec.TierHeavy, spec.ClassStandard))
	}
	await(t, "the tasks are counted", func() bool {
		return depth(t, q, spec.TierHeavy, spec.ClassStandard).Waiting == 10 && depth(t, q, spec.TierLight, spec.ClassPremium).Waiting == 20
	})
	executors := pullAs(t, q, 1, gpu, spec.TierHeavy, spec.TierMedium, spec.TierLight)
	await(t, "it serves the pools", func() bool { // until it has looked for them it serves the tiers alone
		got := executors.next(t)
		got.finish(t)
		return got.task.Tier == spec.TierHeavy
	})
	for i := range 9 {
		got := executors.next(t)
		if got.task.Tier != spec.TierHeavy {
			t.Errorf("task %d was of tier %s before its own was empty", i, got.task.Tier)
		}
		got.finish(t)
	}
	await(t, "it helps with all the rest", func() bool {
		if left := depth(t, q, spec.TierLight, spec.ClassPremium); left.Waiting == 0 {
			return true
		}
		executors.next(t).finish(t)
		return false
	})
}

func poolBurst(t *testing.T, h Harness) {
	const burst = 600
	q := h.Connect(t)
	given := make(chan *taken, burst)
	for range 3 {
		one := pullAs(t, h.Connect(t), 20, labels{"gpu": "true", "zone": "a"}, spec.TierLight)
		go func() {
			for {
				select {
				case got := <-one.given:
					given <- got
				case <-t.Context().Done():
					return
				}
			}
		}()
	}
	errs := make(chan error, burst)
	waiting := make(map[string]bool, burst)
	for i := range burst {
		task := wanting([]labels{gpu, {"zone": "a"}}[i%2], spec.TierLight, []spec.Class{spec.ClassStandard, spec.ClassPremium}[i/2%2])
		waiting[task.Run] = true
		q.Publish(task, func(err error) { errs <- err })
	}
	for range burst {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	for range burst {
		select {
		case got := <-given:
			if !waiting[got.task.Run] {
				t.Fatalf("run %s came twice", got.task.Run)
			}
			delete(waiting, got.task.Run)
			got.finish(t)
		case <-patient(t).Done():
			t.Fatalf("%d tasks were not delivered", len(waiting))
		}
	}
}

func poolDepths(t *testing.T, h Harness) {
	q := h.Connect(t)
	for range 3 {
		publish(t, q, wanting(gpu, spec.TierHeavy, spec.ClassStandard))
	}
	publish(t, q, wanting(labels{"zone": "a"}, spec.TierHeavy, spec.ClassStandard))
	publish(t, q, newTask(spec.TierHeavy, spec.ClassStandard))
	await(t, "the tasks are counted", func() bool { return depth(t, q, spec.TierHeavy, spec.ClassStandard).Waiting == 5 })
	d := depth(t, q, spec.TierHeavy, spec.ClassStandard)
	if len(d.Pools) != 2 || d.Pools[0].Waiting != 3 || !maps.Equal(d.Pools[0].RunsOn, gpu) || d.Pools[1].Waiting != 1 ||
		d.Pools[0].Oldest.IsZero() || !d.Oldest.Equal(d.Pools[0].Oldest) {
		t.Errorf("got %+v", d)
	}
	executors := pullAs(t, q, 1, gpu, spec.TierHeavy)
	await(t, "one of them is delivered", func() bool {
		got := executors.next(t)
		got.finish(t)
		return len(got.task.RunsOn) > 0
	})
	await(t, "fewer wait", func() bool { return poolDepth(t, q, spec.TierHeavy, spec.ClassStandard, gpu).Waiting < 3 })
	if d := depth(t, q, spec.TierLight, spec.ClassStandard); d.Waiting != 0 {
		t.Errorf("another tier has %+v", d)
	}
}

func poolRevoked(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := wanting(gpu, spec.TierLight, spec.ClassStandard)
	publish(t, q, task)
	await(t, "the task is counted", func() bool { return depth(t, q, spec.TierLight, spec.ClassStandard).Waiting == 1 })
	if revoked, err := q.Revoke(patient(t), revocation(task)); err != nil || !revoked {
		t.Fatalf("revoke: %v, %v", revoked, err)
	}
	await(t, "no task waits", func() bool { return depth(t, q, spec.TierLight, spec.ClassStandard).Waiting == 0 })
}

func poolSwept(t *testing.T, h Harness) {
	q := h.Connect(t)
	executor := pullAs(t, h.Connect(t), 1, gpu, spec.TierLight)
	publish(t, q, wanting(gpu, spec.TierLight, spec.ClassStandard))
	executor.next(t).finish(t)
	publish(t, q, wanting(labels{"zone": "a"}, spec.TierLight, spec.ClassStandard)) // which no executor runs
	await(t, "the queue is empty but for one", func() bool {
		d := depth(t, q, spec.TierLight, spec.ClassStandard)
		return d.Waiting == 1 && d.Claimed == 0
	})
	if err := q.SweepPools(patient(t), time.Now()); err != nil {
		t.Fatal(err)
	}
	if d := depth(t, q, spec.TierLight, spec.ClassStandard); len(d.Pools) != 2 {
		t.Fatalf("what is in use was removed: %+v", d)
	}
	if err := q.SweepPools(patient(t), time.Now().Add(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if d := depth(t, q, spec.TierLight, spec.ClassStandard); len(d.Pools) != 1 || d.Pools[0].RunsOn["zone"] != "a" || d.Waiting != 1 {
		t.Errorf("got %+v, want one pool, in which a task waits", d)
	}
	// And it comes back, for the executor that has served it before, too. Another node publishes: it knows nothing.
	task := wanting(gpu, spec.TierLight, spec.ClassStandard)
	publish(t, h.Connect(t), task)
	if got := executor.next(t); got.task.Run != task.Run {
		t.Errorf("got run %s, want %s", got.task.Run, task.Run)
	} else {
		got.finish(t)
	}
}
