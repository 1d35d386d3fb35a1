package queuetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
)

var results = map[string]func(*testing.T, Harness){
	"results are delivered in order, each shard its own":          resultOrder,
	"a new owner begins with the first unacknowledged result":     resultNewOwner,
	"a shard that is read later gets its own from the beginning":  resultJoin,
	"nothing is handed over after the end":                        resultEnd,
	"acknowledging one result acknowledges all before it":         resultAckAll,
	"trimming keeps what is unacknowledged":                       trimUnacknowledged,
	"trimming keeps the claim window":                             trimWindow,
	"trimming keeps everything while a shard has never been read": trimUnread,
	"trimming leaves a running attempt to be reported":            trimRunning,
	"trimming leaves a running attempt to be fenced":              trimFenced,
}

// report makes n results of one shard: of n attempts, in order.
func report(t *testing.T, q Queue, shard, from, n int) {
	t.Helper()
	for i := from; i < from+n; i++ {
		claim(t, q, engine.Result{Kind: engine.ResultStarted, Run: fmt.Sprintf("run-%d", i), Attempt: 1, Shard: shard, Executor: "x", At: time.Now()})
	}
}

func check(t *testing.T, got []engine.Result, shard, from, n int) {
	t.Helper()
	if len(got) != n {
		t.Fatalf("%d results, want %d", len(got), n)
	}
	for i, result := range got {
		if want := fmt.Sprintf("run-%d", from+i); result.Run != want || result.Shard != shard {
			t.Fatalf("result %d is of %s in shard %d, want %s in %d", i, result.Run, result.Shard, want, shard)
		}
		if i > 0 && result.Sequence <= got[i-1].Sequence {
			t.Fatalf("result %d has sequence %d after %d", i, result.Sequence, got[i-1].Sequence)
		}
	}
}

func resultOrder(t *testing.T, h Harness) {
	q := h.Connect(t)
	report(t, q, 3, 0, 150)
	one := own(t, q, 3)
	report(t, q, 4, 1000, 5)
	report(t, q, 3, 150, 150)
	got, last := one.take(t, 300)
	check(t, got, 3, 0, 300)
	if err := last.Ack(); err != nil {
		t.Fatal(err)
	}
	other := own(t, q, 4)
	got, _ = other.take(t, 5)
	check(t, got, 4, 1000, 5)
}

func resultNewOwner(t *testing.T, h Harness) {
	q := h.Connect(t)
	report(t, q, 5, 0, 10)
	first := own(t, q, 5)
	got, last := first.take(t, 10)
	check(t, got, 5, 0, 10)
	if err := last.Ack(); err != nil {
		t.Fatal(err)
	}
	report(t, q, 5, 10, 20)
	got, _ = first.take(t, 20) // and it dies before it acknowledges them
	check(t, got, 5, 10, 20)
	first.stop()
	for range 2 {
		next := own(t, h.Connect(t), 5)
		got, _ = next.take(t, 20)
		check(t, got, 5, 10, 20)
		next.stop()
	}
	after := own(t, h.Connect(t), 5)
	report(t, q, 5, 30, 5)
	got, last = after.take(t, 25)
	check(t, got, 5, 10, 25)
	if err := last.Ack(); err != nil {
		t.Fatal(err)
	}
}

// resultJoin reads a second shard when the first is far ahead: the second is given what waited, and the first nothing
// twice.
func resultJoin(t *testing.T, h Harness) {
	q := h.Connect(t)
	report(t, q, 11, 0, 20)
	first := own(t, q, 10)
	report(t, q, 10, 100, 20)
	got, _ := first.take(t, 20)
	check(t, got, 10, 100, 20)
	second := own(t, q, 11)
	got, _ = second.take(t, 20)
	check(t, got, 11, 0, 20)
	report(t, q, 11, 20, 5)
	report(t, q, 10, 120, 5)
	got, _ = first.take(t, 5)
	check(t, got, 10, 120, 5)
	first.stop()
	report(t, q, 11, 25, 5)
	got, _ = second.take(t, 10)
	check(t, got, 11, 20, 10)
	again := own(t, q, 10) // which never acknowledged anything
	got, _ = again.take(t, 25)
	check(t, got, 10, 100, 25)
	report(t, q, 11, 30, 5)
	got, _ = second.take(t, 5)
	check(t, got, 11, 30, 5)
}

func resultEnd(t *testing.T, h Harness) {
	q := h.Connect(t)
	stay := own(t, q, 13)
	for i := range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		var reading sync.WaitGroup
		reading.Go(func() {
			ended := false
			err := q.Results(ctx, 12, func(shard.Delivery) {
				if ended { // and the race detector sees that handle ends before Results
					t.Error("a result was handed over after the end")
				}
				cancel()
			})
			ended = true
			if err != nil {
				t.Errorf("results: %v", err)
			}
		})
		report(t, q, 12, i*30, 30)
		report(t, q, 13, i*30, 30)
		reading.Wait()
		got, _ := stay.take(t, 30)
		check(t, got, 13, i*30, 30)
	}
}

func resultAckAll(t *testing.T, h Harness) {
	q := h.Connect(t)
	first := own(t, q, 9)
	var deliveries int
	for i := range 20 { // one by one, so that they are deliveries of their own
		report(t, q, 9, i, 1)
		_, last := first.take(t, 1)
		if deliveries++; i == 14 {
			if err := last.Ack(); err != nil {
				t.Fatal(err)
			}
		}
	}
	await(t, "the acknowledgement has arrived", func() bool { return q.Ping(patient(t)) == nil })
	first.stop()
	next := own(t, q, 9)
	got, _ := next.take(t, 5)
	check(t, got, 9, 15, 5)
}

// ownAll reads every shard once and acknowledges all.
func ownAll(t *testing.T, q Queue, n int) *owner {
	t.Helper()
	numbers := make([]int, engine.Shards)
	for i := range numbers {
		numbers[i] = i
	}
	o := own(t, q, numbers...)
	for n > 0 {
		got, last := o.take(t, 1)
		n -= len(got)
		if err := last.Ack(); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

var trims atomic.Int64

// muchLater is two claim windows after the time that it gave before: what can go is trimmed a window after that was noticed.
func muchLater(h Harness) time.Time {
	return time.Now().Add(2 * h.ClaimWindow * time.Duration(trims.Add(1)))
}

// trim trims as if it were long after everything, until it says that nothing is left to be done.
func trim(t *testing.T, q Queue, h Harness) (purged uint64) {
	t.Helper()
	for idle := 0; idle < 2; { // what is noticed goes the next time
		n, err := q.Trim(patient(t), muchLater(h))
		if err != nil {
			t.Fatalf("trim: %v", err)
		}
		if idle++; n > 0 {
			idle = 0
		}
		purged += n
	}
	return purged
}

// trimAtLeast trims until n messages have gone: acknowledgements and new consumers take effect a little later.
func trimAtLeast(t *testing.T, q Queue, h Harness, n uint64) {
	t.Helper()
	var purged uint64
	await(t, "results are trimmed", func() bool {
		purged += trim(t, q, h)
		return purged >= n
	})
}

func trimUnacknowledged(t *testing.T, h Harness) {
	q := h.Connect(t)
	report(t, q, 1, 0, 10)
	owner := ownAll(t, q, 10)
	report(t, q, 2, 10, 10) // delivered to the owner, and not acknowledged
	got, _ := owner.take(t, 10)
	check(t, got, 2, 10, 10)
	trimAtLeast(t, q, h, 10)
	owner.stop()
	report(t, q, 1, 20, 10) // not even delivered
	if purged := trim(t, q, h); purged != 0 {
		t.Errorf("%d messages trimmed, want none", purged)
	}
	second := own(t, q, 2)
	got, _ = second.take(t, 10)
	check(t, got, 2, 10, 10)
	first := own(t, q, 1)
	got, _ = first.take(t, 10)
	check(t, got, 1, 20, 10)
}

func trimWindow(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	claim(t, q, started(task, "one", 1))
	ownAll(t, q, 1)
	if purged, err := q.Trim(patient(t), time.Now()); err != nil || purged != 0 {
		t.Errorf("trimmed %d, %v, want nothing: it is too young", purged, err)
	}
	if _, err := q.Claim(patient(t), started(task, "two", 2)); !errors.Is(err, executor.ErrClaimed) {
		t.Errorf("claim of a late copy: %v, want ErrClaimed", err)
	}
	trimAtLeast(t, q, h, 1)
}

func trimUnread(t *testing.T, h Harness) {
	q := h.Connect(t)
	report(t, q, 1, 0, 10)
	one := own(t, q, 1)
	_, last := one.take(t, 10)
	if err := last.Ack(); err != nil {
		t.Fatal(err)
	}
	if purged := trim(t, q, h); purged != 0 {
		t.Errorf("%d messages trimmed although 63 shards have no reader", purged)
	}
}

func trimRunning(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	token := lock(t, q, task.Lock, holder(task, "one"), time.Minute)
	begun := started(task, "one", token)
	first := claim(t, q, begun)
	owner := ownAll(t, q, 1)
	for range 3 { // a copy is copied again
		await(t, "its first message is trimmed", func() bool {
			purged, err := q.Trim(patient(t), muchLater(h))
			if err != nil {
				t.Fatalf("trim: %v", err)
			}
			return purged > 0
		})
	}
	state, err := q.Inspect(patient(t), core.Inspect{Shard: task.Shard, Run: task.Run, Attempt: 1, Locks: []string{task.Lock}})
	if err != nil || state.Last != engine.ResultStarted || !state.LockHeld {
		t.Errorf("inspect: %+v, %v, want it started and locked", state, err)
	}
	if _, err := q.Claim(patient(t), started(task, "two", token+1)); !errors.Is(err, executor.ErrClaimed) {
		t.Errorf("claim of a late copy: %v, want ErrClaimed", err)
	}
	if _, err := q.Report(patient(t), finished(begun), first); err != nil {
		t.Errorf("report: %v", err)
	}
	got, last := owner.take(t, 1)
	if got[0].Kind != engine.ResultFinished {
		t.Errorf("the owner got a %s, want only the end", got[0].Kind)
	}
	if err := last.Ack(); err != nil {
		t.Fatal(err)
	}
	if err := q.Unlock(patient(t), task.Lock, token); err != nil {
		t.Fatal(err)
	}
	trimAtLeast(t, q, h, 1)
}

func trimFenced(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	token := lock(t, q, task.Lock, holder(task, "one"), time.Minute)
	begun := started(task, "one", token)
	first := claim(t, q, begun)
	ownAll(t, q, 1)
	await(t, "its first message is trimmed", func() bool {
		purged, err := q.Trim(patient(t), muchLater(h))
		if err != nil {
			t.Fatalf("trim: %v", err)
		}
		return purged > 0
	})
	state, err := q.Inspect(patient(t), core.Inspect{Shard: task.Shard, Run: task.Run, Attempt: 1, Locks: []string{task.Lock}})
	if err != nil {
		t.Fatal(err)
	}
	if lost, err := q.DeclareLost(patient(t), task.Shard, task.Run, 1, state.Sequence); err != nil || !lost {
		t.Fatalf("declare lost: %v, %v", lost, err)
	}
	if _, err := q.Report(patient(t), finished(begun), first); !errors.Is(err, executor.ErrFenced) {
		t.Errorf("report: %v, want ErrFenced", err)
	}
}
