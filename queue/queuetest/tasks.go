package queuetest

import (
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

var tasks = map[string]func(*testing.T, Harness){
	"a task is delivered as it was published":                  taskDelivered,
	"a second copy is refused until the first is acknowledged": taskCopyRefused,
	"a task is published again after it was acknowledged":      taskPublishedAgain,
	"a later attempt takes the place of an earlier one":        taskLaterAttempt,
	"an unacknowledged task is delivered again":                taskRedelivered,
	"a task in hand is not delivered again":                    taskInHand,
	"a task given back is delivered again":                     taskGivenBack,
	"an executor that drains leaves what it has not begun":     taskDrain,
	"the depth of a queue is what waits and what is delivered": taskDepths,
	"a run that is no subject token is refused":                taskBadName,
	"a burst is delivered whole, and each task of it once":     taskBurst,
	"a busy executor holds no task back from one that is idle": taskNotHeldBack,
	"no more tasks are handled at once than there are slots":   taskSlots,
	"a revoked task is gone from the queue":                    taskRevoked,
}

func taskDelivered(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierMedium, spec.ClassPremium)
	task.Args, task.Env, task.Timeout = []string{"a", "b c"}, map[string]string{"K": "v"}, time.Minute
	executors := pull(t, q, 1, spec.TierMedium)
	publish(t, q, task)
	got := executors.next(t)
	if got.task.Run != task.Run || !slices.Equal(got.task.Args, task.Args) || got.task.Env["K"] != "v" || got.task.Timeout != time.Minute ||
		!got.task.QueuedAt.Equal(task.QueuedAt) || got.task.Tier != task.Tier || got.task.Class != task.Class {
		t.Errorf("got %+v, want %+v", got.task, *task)
	}
	got.finish(t)
	await(t, "the queue is empty", func() bool {
		d := depth(t, q, spec.TierMedium, spec.ClassPremium)
		return d.Waiting == 0 && d.Claimed == 0
	})
}

func taskCopyRefused(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	for range 3 {
		publish(t, q, task) // a copy that waits is as good as a new one: no error
	}
	// A queue may count a moment after it has taken.
	await(t, "one copy waits", func() bool { return depth(t, q, spec.TierLight, spec.ClassStandard).Waiting == 1 })
	executors := pull(t, q, 4, spec.TierLight)
	got := executors.next(t)
	publish(t, q, task) // delivered, not acknowledged
	if d := depth(t, q, spec.TierLight, spec.ClassStandard); d.Waiting != 1 || d.Claimed != 1 {
		t.Errorf("%d copies wait, %d of them delivered, want 1 and 1", d.Waiting, d.Claimed)
	}
	got.finish(t)
}

func taskPublishedAgain(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	executors := pull(t, q, 4, spec.TierLight)
	for range 3 { // at once: no window of deduplication swallows it
		publish(t, q, task)
		executors.next(t).finish(t)
		await(t, "the task is acknowledged", func() bool { return depth(t, q, spec.TierLight, spec.ClassStandard).Claimed == 0 })
	}
}

func taskLaterAttempt(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	publish(t, q, task)
	later := *task
	later.Attempt = 2
	publish(t, q, &later)
	publish(t, q, task) // the earlier one does not come back in its place
	executors := pull(t, q, 4, spec.TierLight)
	second := executors.next(t)
	if second.task.Attempt != 2 {
		t.Fatalf("attempt %d was delivered, want 2", second.task.Attempt)
	}
	// Now the copy in the way is delivered and not acknowledged.
	last := *task
	last.Attempt = 3
	publish(t, q, &last)
	third := executors.next(t)
	if third.task.Attempt != 3 {
		t.Fatalf("attempt %d was delivered, want 3", third.task.Attempt)
	}
	second.finish(t)
	third.finish(t)
	await(t, "the queue is empty", func() bool {
		d := depth(t, q, spec.TierLight, spec.ClassStandard)
		return d.Waiting == 0 && d.Claimed == 0
	})
}

func taskRedelivered(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassPremium)
	executors := pull(t, q, 2, spec.TierLight)
	publish(t, q, task)
	first := executors.next(t)
	close(first.release) // and never acknowledged, like by an executor that died
	again := executors.next(t)
	if again.task.Run != task.Run {
		t.Fatalf("got run %s, want %s", again.task.Run, task.Run)
	}
	again.finish(t)
}

// However long an executor takes to get the lock, and to claim, no other executor is given the task as long as it lives.
func taskInHand(t *testing.T, h Harness) {
	q := h.Connect(t)
	executors := pull(t, q, 2, spec.TierLight)
	publish(t, q, newTask(spec.TierLight, spec.ClassPremium))
	first := executors.next(t)
	select {
	case <-executors.given:
		t.Error("it was delivered again")
	case <-time.After(2*h.AckWait + h.AckWait/2):
	}
	first.finish(t)
}

func taskGivenBack(t *testing.T, h Harness) {
	q := h.Connect(t)
	executors := pull(t, q, 1, spec.TierLight)
	publish(t, q, newTask(spec.TierLight, spec.ClassPremium))
	first := executors.next(t)
	begun := time.Now()
	const delay = 300 * time.Millisecond
	if err := first.Nak(delay); err != nil {
		t.Fatal(err)
	}
	close(first.release)
	second := executors.next(t)
	if waited := time.Since(begun); waited < delay {
		t.Errorf("delivered again after %v, want at least %v", waited, delay)
	}
	if err := second.Nak(0); err != nil {
		t.Fatal(err)
	}
	close(second.release)
	executors.next(t).finish(t)
}

func taskDrain(t *testing.T, h Harness) {
	q := h.Connect(t)
	first := pull(t, q, 1, spec.TierLight)
	publish(t, q, newTask(spec.TierLight, spec.ClassStandard))
	running := first.next(t)
	var left []string
	for range 20 {
		task := newTask(spec.TierLight, spec.ClassStandard)
		publish(t, q, task)
		left = append(left, task.Run)
	}
	if err := running.Ack(); err != nil {
		t.Fatal(err)
	}
	first.stop()
	second := pull(t, h.Connect(t), 20, spec.TierLight)
	for range left {
		got := second.next(t)
		if !slices.Contains(left, got.task.Run) {
			t.Errorf("run %s came again", got.task.Run)
		}
		got.finish(t)
	}
}

func taskDepths(t *testing.T, h Harness) {
	q := h.Connect(t)
	before := time.Now().Add(-time.Minute) // the server's clock may be another
	for range 3 {
		publish(t, q, newTask(spec.TierHeavy, spec.ClassStandard))
	}
	await(t, "the queue has counted what it took", func() bool { return depth(t, q, spec.TierHeavy, spec.ClassStandard).Waiting == 3 })
	d := depth(t, q, spec.TierHeavy, spec.ClassStandard)
	if d.Waiting != 3 || d.Claimed != 0 || d.Oldest.Before(before) {
		t.Errorf("got %+v, want three waiting since just now", d)
	}
	executors := pull(t, q, 1, spec.TierHeavy)
	executors.next(t)
	await(t, "one is delivered and two wait", func() bool {
		d := depth(t, q, spec.TierHeavy, spec.ClassStandard)
		return d.Waiting == 3 && d.Claimed >= 1
	})
	if other := depth(t, q, spec.TierLight, spec.ClassStandard); other.Waiting != 0 || !other.Oldest.IsZero() {
		t.Errorf("another tier has %+v, want nothing", other)
	}
}

func taskBadName(t *testing.T, h Harness) {
	q := h.Connect(t)
	for _, run := range []string{"", "a.b", "a b", "*", ">"} {
		task := newTask(spec.TierLight, spec.ClassStandard)
		task.Run = run
		if err := tryPublish(patient(t), q, task); err == nil {
			t.Errorf("run %q was published", run)
		}
		if _, err := q.Claim(patient(t), engine.Result{Kind: engine.ResultStarted, Run: run, Attempt: 1}); err == nil {
			t.Errorf("run %q was claimed", run)
		}
	}
}

func taskBurst(t *testing.T, h Harness) {
	const burst = 1000
	q := h.Connect(t)
	executors := pull(t, q, 50, spec.TierLight)
	errs := make(chan error, burst)
	waiting := make(map[string]bool, burst)
	for i := range burst {
		task := newTask(spec.TierLight, []spec.Class{spec.ClassStandard, spec.ClassPremium}[i%2])
		waiting[task.Run] = true
		q.Publish(task, func(err error) { errs <- err })
	}
	for range burst {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	for range burst {
		got := executors.next(t)
		if !waiting[got.task.Run] {
			t.Fatalf("run %s came twice", got.task.Run)
		}
		delete(waiting, got.task.Run)
		got.finish(t)
	}
}

func taskNotHeldBack(t *testing.T, h Harness) {
	q := h.Connect(t)
	busy := pull(t, q, 1, spec.TierLight)
	publish(t, q, newTask(spec.TierLight, spec.ClassStandard))
	blocked := busy.next(t)
	idle := pull(t, h.Connect(t), 1, spec.TierLight)
	// Requests of the busy one may still stand; what they bring must continue to the idle one, long before the ack wait.
	for _, class := range []spec.Class{spec.ClassPremium, spec.ClassStandard, spec.ClassPremium, spec.ClassStandard} {
		task := newTask(spec.TierLight, class)
		publish(t, q, task)
		got := idle.next(t)
		if got.task.Run != task.Run {
			t.Fatalf("got %s, want %s", got.task.Run, task.Run)
		}
		got.finish(t)
	}
	blocked.finish(t)
}

func taskSlots(t *testing.T, h Harness) {
	const slots = 3
	q := h.Connect(t)
	for range 12 {
		publish(t, q, newTask(spec.TierLight, spec.ClassStandard))
		publish(t, q, newTask(spec.TierLight, spec.ClassPremium))
	}
	executors := pull(t, q, slots, spec.TierLight)
	for range 24 / slots {
		var running []*taken
		for range slots {
			running = append(running, executors.next(t))
		}
		if len(executors.given) > 0 {
			t.Fatalf("more than %d tasks are handled at once", slots)
		}
		for _, one := range running {
			if err := one.Ack(); err != nil {
				t.Fatal(err)
			}
		}
		for _, one := range running {
			close(one.release)
		}
	}
}

func taskRevoked(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	publish(t, q, task)
	for range 2 { // a second call returns the same
		revoked, err := q.Revoke(patient(t), revocation(task))
		if err != nil || !revoked {
			t.Fatalf("revoke: %v, %v", revoked, err)
		}
	}
	await(t, "no task waits", func() bool { return depth(t, q, spec.TierLight, spec.ClassStandard).Waiting == 0 })
	next := *task
	next.Attempt = 2
	publish(t, q, &next)
	if revoked, err := q.Revoke(patient(t), revocation(task)); err != nil || !revoked {
		t.Fatalf("revoke: %v, %v", revoked, err)
	}
	await(t, "the second attempt's task waits", func() bool { return depth(t, q, spec.TierLight, spec.ClassStandard).Waiting == 1 })
}
