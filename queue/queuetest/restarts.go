package queuetest

import (
	"errors"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
)

var restarts = map[string]func(*testing.T, Harness){
	"what was acknowledged outlives the server": restartKeeps,
	"clients continue when the server is back":  restartClients,
	"tokens grow over restarts of the server":   restartTokens,
	"labels outlive the server":                 restartPools,
}

// eventually tries what fails while the server is unavailable.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	var err error
	ctx := patient(t)
	for err = try(); err != nil; err = try() {
		if ctx.Err() != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

func restartKeeps(t *testing.T, h Harness) {
	q := h.Connect(t)
	waiting, running := newTask(spec.TierLight, spec.ClassStandard), newTask(spec.TierLight, spec.ClassStandard)
	publish(t, q, waiting)
	token := lock(t, q, running.Lock, holder(running, "one"), time.Minute)
	begun := started(running, "one", token)
	first := claim(t, q, begun)
	away := time.Now()
	h.Restart(t)
	eventually(t, "ping", func() error { return q.Ping(patient(t)) })
	if d := depth(t, q, spec.TierLight, spec.ClassStandard); d.Waiting != 1 {
		t.Errorf("%d tasks wait, want 1", d.Waiting)
	}
	state, err := q.Inspect(patient(t), core.Inspect{Shard: running.Shard, Run: running.Run, Attempt: 1, Locks: []string{running.Lock}})
	if err != nil || !state.LockHeld || state.Sequence != first {
		t.Errorf("inspect: %+v, %v, want it started and locked", state, err)
	}
	if state.Since.Before(away) || state.Since.After(time.Now()) {
		t.Errorf("it was last out of reach at %v, want after %v", state.Since, away)
	}
	if _, err := q.Report(patient(t), finished(begun), first); err != nil {
		t.Errorf("report: %v", err)
	}
	if _, err := q.Claim(patient(t), started(running, "two", token+1)); !errors.Is(err, executor.ErrClaimed) {
		t.Errorf("claim: %v, want ErrClaimed", err)
	}
}

func restartClients(t *testing.T, h Harness) {
	q, executorSide := h.Connect(t), h.Connect(t)
	owner := own(t, q, 0, 1)
	puller := pull(t, executorSide, 4, spec.TierLight)
	round := func(i int) {
		task := newTask(spec.TierLight, spec.ClassPremium)
		task.Shard = i % 2
		eventually(t, "publish", func() error { return tryPublish(patient(t), q, task) })
		got := puller.next(t)
		for got.task.Run != task.Run { // of an acknowledgement that was lost
			got.finish(t)
			got = puller.next(t)
		}
		eventually(t, "claim", func() error { _, err := executorSide.Claim(patient(t), started(task, "one", 1)); return err })
		got.finish(t)
		for {
			results, last := owner.take(t, 1)
			if err := last.Ack(); err != nil {
				t.Logf("ack: %v", err)
			}
			if results[len(results)-1].Run == task.Run {
				return
			}
		}
	}
	for i := range 4 {
		round(i)
	}
	for range 2 {
		h.Restart(t)
		for i := range 4 {
			round(i)
		}
	}
}

func restartTokens(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	var last uint64
	for range 3 {
		token := obtain(t, q, task.Lock, holder(task, "one"))
		if token <= last {
			t.Fatalf("token %d after %d", token, last)
		}
		last = token
		if err := q.Unlock(patient(t), task.Lock, token); err != nil {
			t.Fatal(err)
		}
		h.Restart(t)
		eventually(t, "ping", func() error { return q.Ping(patient(t)) })
	}
}

func restartPools(t *testing.T, h Harness) {
	q := h.Connect(t)
	served, unserved := wanting(gpu, spec.TierLight, spec.ClassStandard), wanting(labels{"zone": "a"}, spec.TierLight, spec.ClassPremium)
	executor := pullAs(t, h.Connect(t), 1, gpu, spec.TierLight)
	publish(t, q, wanting(gpu, spec.TierLight, spec.ClassStandard))
	executor.next(t).finish(t)
	publish(t, q, unserved)
	h.Restart(t)
	eventually(t, "ping", func() error { return q.Ping(patient(t)) })
	eventually(t, "publish", func() error { return tryPublish(patient(t), q, served) })
	if got := executor.next(t); got.task.Run != served.Run {
		t.Errorf("got run %s, want %s", got.task.Run, served.Run)
	} else {
		got.finish(t)
	}
	if d := poolDepth(t, q, spec.TierLight, spec.ClassPremium, unserved.RunsOn); d.Waiting != 1 {
		t.Errorf("%d tasks wait for who is not there, want 1", d.Waiting)
	}
	later := pullAs(t, h.Connect(t), 1, unserved.RunsOn, spec.TierLight)
	if got := later.next(t); got.task.Run != unserved.Run {
		t.Errorf("got run %s, want %s", got.task.Run, unserved.Run)
	} else {
		got.finish(t)
	}
}
