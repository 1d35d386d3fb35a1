package queuetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
)

var drains = map[string]func(*testing.T, Harness){
	"an order waits for the executor, and the last one counts":      drainOrders,
	"an order reaches the executor it is for":                       drainTold,
	"an executor that holds takes nothing, and leaves it to others": drainHolds,
	"a clock that differs is reported":                              presenceClocks,
	"the owner of each shard is reported":                           leaseOwners,
	"a task that waited while all held goes to the first to resume": drainGoesOn,
}

func order(t *testing.T, q Queue, id string, draining bool) {
	t.Helper()
	if err := q.OrderDrain(patient(t), id, engine.DrainOrder{Draining: draining, By: "ada", At: time.Now().UTC()}); err != nil {
		t.Fatal(err)
	}
}

func drainOrders(t *testing.T, h Harness) {
	q, web := h.Connect(t), h.Connect(t)
	if left, ok, err := q.DrainOrder(patient(t), "e-1"); ok || err != nil {
		t.Fatalf("there is an order before there was one: %+v, %v", left, err)
	}
	order(t, web, "e-1", true)
	order(t, web, "e-2", true)
	first, ok, err := q.DrainOrder(patient(t), "e-1")
	if !ok || err != nil || !first.Draining || first.By != "ada" || first.At.IsZero() {
		t.Fatalf("got %+v, %v, %v", first, ok, err)
	}
	order(t, web, "e-1", false)
	second, ok, err := q.DrainOrder(patient(t), "e-1")
	if !ok || err != nil || second.Draining || second.Revision <= first.Revision {
		t.Errorf("after %+v got %+v, %v, %v", first, second, ok, err)
	}
	if err := web.OrderDrain(patient(t), "a.b", engine.DrainOrder{}); err == nil {
		t.Error("an order was left for what is no executor")
	}
}

func drainTold(t *testing.T, h Harness) {
	q, web := h.Connect(t), h.Connect(t)
	heard := hear(t, q.Controls)
	want := engine.Control{Kind: engine.ControlDrain, Executor: "e-1"}
	if got := repeat(t, web, func() error {
		return web.OrderDrain(patient(t), "e-1", engine.DrainOrder{Draining: true})
	}, heard); got != want {
		t.Errorf("heard %+v, want %+v", got, want)
	}
}

// held is an executor that can hold.
func held(t *testing.T, q Queue) (tasks <-chan engine.Task, hold chan bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan engine.Task, 1000)
	hold = make(chan bool)
	var background sync.WaitGroup
	background.Go(func() {
		config := executor.PullConfig{Executor: "x", Tiers: []spec.Tier{spec.TierLight}, Slots: 4, Hold: hold}
		if err := q.Pull(ctx, config, func(d executor.Delivery) {
			task, err := d.Task()
			if err == nil {
				err = d.Ack()
			}
			if err != nil {
				t.Errorf("take a task: %v", err)
			}
			given <- task
		}); err != nil {
			t.Errorf("pull: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); background.Wait() })
	return given, hold
}

func say(t *testing.T, hold chan<- bool, value bool) {
	t.Helper()
	for range 2 { // the second is taken when the first has been done
		select {
		case hold <- value:
		case <-patient(t).Done():
			t.Fatal("the pull does not hear")
		}
	}
}

func takes(t *testing.T, tasks <-chan engine.Task, run string) {
	t.Helper()
	select {
	case task := <-tasks:
		if task.Run != run {
			t.Errorf("it takes %s, want %s", task.Run, run)
		}
	case <-patient(t).Done():
		t.Fatal("no task was delivered")
	}
}

func drainHolds(t *testing.T, h Harness) {
	q := h.Connect(t)
	tasks, hold := held(t, q)
	for range 3 { // again and again
		task := newTask(spec.TierLight, spec.ClassStandard)
		publish(t, q, task)
		takes(t, tasks, task.Run)
		say(t, hold, true)
		task = newTask(spec.TierLight, spec.ClassPremium)
		publish(t, q, task)
		other := pull(t, h.Connect(t), 1, spec.TierLight)
		if got := other.next(t); got.task.Run != task.Run {
			t.Errorf("the other takes %s, want %s", got.task.Run, task.Run)
		} else {
			got.finish(t)
		}
		other.stop()
		select {
		case task := <-tasks:
			t.Errorf("it takes %s", task.Run)
		default:
		}
		say(t, hold, false)
	}
}

func drainGoesOn(t *testing.T, h Harness) {
	q := h.Connect(t)
	tasks, hold := held(t, q)
	say(t, hold, true)
	task := newTask(spec.TierLight, spec.ClassStandard)
	publish(t, q, task)
	if waiting := depth(t, q, spec.TierLight, spec.ClassStandard); waiting.Pulls != 0 {
		t.Errorf("%d requests stand at an executor that holds", waiting.Pulls)
	}
	say(t, hold, false)
	takes(t, tasks, task.Run)
}

func leaseOwners(t *testing.T, h Harness) {
	q := h.Connect(t)
	one, two := engineID(), engineID()
	acquire(t, q, 3, one, 0)
	token := acquire(t, q, 4, one, 0)
	acquire(t, q, 63, two, 0)
	if _, err := q.ReleaseLease(patient(t), 4, token); err != nil {
		t.Fatal(err)
	}
	got, err := h.Connect(t).ShardOwners(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	want := [engine.Shards]string{3: one, 63: two}
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The clock of who announces itself is compared with the server's, which runs on this machine.
func presenceClocks(t *testing.T, h Harness) {
	q := h.Connect(t)
	const ahead = time.Hour
	one := presence("e-1")
	one.Seen = time.Now().Add(ahead).UTC()
	if err := q.Announce(patient(t), one, time.Minute); err != nil {
		t.Fatal(err)
	}
	two := engine.EnginePresence{ID: "e-2", Seen: time.Now().Add(-ahead).UTC()}
	if err := q.AnnounceEngine(patient(t), two, time.Minute); err != nil {
		t.Fatal(err)
	}
	executors, err := q.Executors(patient(t))
	if err != nil || len(executors) != 1 {
		t.Fatalf("%+v, %v", executors, err)
	}
	engines, err := q.Engines(patient(t))
	if err != nil || len(engines) != 1 {
		t.Fatalf("%+v, %v", engines, err)
	}
	for name, got := range map[string]struct {
		ahead, want time.Duration
		seen        time.Time
	}{"executor": {executors[0].Ahead, ahead, executors[0].Seen}, "engine": {engines[0].Ahead, -ahead, engines[0].Seen}} {
		if (got.ahead-got.want).Abs() > patience || time.Since(got.seen).Abs() > patience {
			t.Errorf("the %s's clock is %s before the server's, want about %s; it was seen at %s", name, got.ahead, got.want, got.seen)
		}
	}
}
