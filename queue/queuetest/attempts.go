package queuetest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/spec"
)

var attempts = map[string]func(*testing.T, Harness){
	"of many claims one wins":                                       attemptClaims,
	"a claim whose answer was lost is found again":                  attemptClaimAgain,
	"a stale report is fenced":                                      attemptStaleReport,
	"a report whose answer was lost is found again":                 attemptReportAgain,
	"either the claim wins or the revocation":                       attemptRevokeRace,
	"either the report wins or the declaration of loss":             attemptLostRace,
	"declaring an attempt lost twice answers the same":              attemptLostTwice,
	"a declaration of loss fails when something came in between":    attemptLostLate,
	"an attempt is inspected with its task, its claim and its lock": attemptInspect,
}

func attemptClaims(t *testing.T, h Harness) {
	first, second := h.Connect(t), h.Connect(t)
	for round := range 20 {
		task := newTask(spec.TierLight, spec.ClassStandard)
		var mu sync.Mutex
		var won int
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				_, err := []Queue{first, second}[i%2].Claim(patient(t), started(task, "x", uint64(i+1)))
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won++
				} else if !errors.Is(err, executor.ErrClaimed) {
					t.Errorf("claim: %v", err)
				}
			})
		}
		all.Wait()
		if won != 1 {
			t.Fatalf("round %d: %d claims won", round, won)
		}
	}
}

func attemptClaimAgain(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	first := claim(t, q, started(task, "one", 7))
	if again := claim(t, q, started(task, "one", 7)); again != first {
		t.Errorf("sequence %d, want %d", again, first)
	}
	// Another lock is another delivery, to whichever executor.
	for _, other := range []engine.Result{started(task, "one", 8), started(task, "two", 7)} {
		if _, err := q.Claim(patient(t), other); !errors.Is(err, executor.ErrClaimed) {
			t.Errorf("claim of %s with token %d: %v, want ErrClaimed", other.Executor, other.Token, err)
		}
	}
}

func attemptStaleReport(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	begun := started(task, "one", 1)
	first := claim(t, q, begun)
	second, err := q.Report(patient(t), newProgress(begun, 1), first)
	if err != nil || second <= first {
		t.Fatalf("report: %d, %v", second, err)
	}
	if _, err := q.Report(patient(t), newProgress(begun, 2), first); !errors.Is(err, executor.ErrFenced) {
		t.Errorf("report after a message of before: %v, want ErrFenced", err)
	}
	if lost, err := q.DeclareLost(patient(t), task.Shard, task.Run, 1, second); err != nil || !lost {
		t.Fatalf("declare lost: %v, %v", lost, err)
	}
	if _, err := q.Report(patient(t), finished(begun), second); !errors.Is(err, executor.ErrFenced) {
		t.Errorf("report of a lost attempt: %v, want ErrFenced", err)
	}
}

func attemptReportAgain(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	begun := started(task, "one", 1)
	first := claim(t, q, begun)
	end := finished(begun)
	sequence, err := q.Report(patient(t), end, first)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := q.Report(patient(t), end, first); err != nil || again != sequence {
		t.Errorf("reported again: %d, %v, want %d", again, err, sequence)
	}
}

func attemptRevokeRace(t *testing.T, h Harness) {
	engineSide, executorSide := h.Connect(t), h.Connect(t)
	var claims, revocations int
	for round := range 100 {
		task := newTask(spec.TierLight, spec.ClassStandard)
		var revoked bool
		var revokeErr, claimErr error
		var both sync.WaitGroup
		both.Go(func() {
			revoked, revokeErr = engineSide.Revoke(patient(t), revocation(task))
		})
		both.Go(func() { _, claimErr = executorSide.Claim(patient(t), started(task, "one", 1)) })
		both.Wait()
		if revokeErr != nil || (claimErr != nil && !errors.Is(claimErr, executor.ErrClaimed)) {
			t.Fatalf("round %d: revoke %v, claim %v", round, revokeErr, claimErr)
		}
		if claimed := claimErr == nil; claimed == revoked {
			t.Fatalf("round %d: claimed %v, revoked %v", round, claimed, revoked)
		}
		if revoked {
			revocations++
		} else {
			claims++
		}
	}
	t.Logf("%d claims and %d revocations won", claims, revocations)
}

func attemptLostRace(t *testing.T, h Harness) {
	engineSide, executorSide := h.Connect(t), h.Connect(t)
	for round := range 100 {
		task := newTask(spec.TierLight, spec.ClassStandard)
		begun := started(task, "one", 1)
		sequence := claim(t, executorSide, begun)
		var lost bool
		var lostErr, reportErr error
		var both sync.WaitGroup
		both.Go(func() { lost, lostErr = engineSide.DeclareLost(patient(t), task.Shard, task.Run, 1, sequence) })
		both.Go(func() { _, reportErr = executorSide.Report(patient(t), finished(begun), sequence) })
		both.Wait()
		if lostErr != nil || (reportErr != nil && !errors.Is(reportErr, executor.ErrFenced)) {
			t.Fatalf("round %d: lost %v, report %v", round, lostErr, reportErr)
		}
		if reported := reportErr == nil; reported == lost {
			t.Fatalf("round %d: reported %v, lost %v", round, reported, lost)
		}
	}
}

func attemptLostTwice(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	sequence := claim(t, q, started(task, "one", 1))
	for range 2 {
		if lost, err := q.DeclareLost(patient(t), task.Shard, task.Run, 1, sequence); err != nil || !lost {
			t.Fatalf("declare lost: %v, %v", lost, err)
		}
	}
}

func attemptLostLate(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	begun := started(task, "one", 1)
	first := claim(t, q, begun)
	if _, err := q.Report(patient(t), newProgress(begun, 1), first); err != nil {
		t.Fatal(err)
	}
	if lost, err := q.DeclareLost(patient(t), task.Shard, task.Run, 1, first); err != nil || lost {
		t.Errorf("declare lost: %v, %v, want false", lost, err)
	}
	if revoked, err := q.Revoke(patient(t), revocation(task)); err != nil || revoked {
		t.Errorf("revoke: %v, %v, want false", revoked, err)
	}
}

func attemptInspect(t *testing.T, h Harness) {
	q := h.Connect(t)
	task := newTask(spec.TierLight, spec.ClassStandard)
	inspect := func(attempt int) engine.AttemptState {
		t.Helper()
		state, err := q.Inspect(patient(t), core.Inspect{
			Shard: task.Shard, Run: task.Run, Attempt: attempt, Locks: []string{task.Run, task.Lock}, // it holds the second
			Tier: string(task.Tier), Class: string(task.Class), RunsOn: task.RunsOn,
		})
		if err != nil {
			t.Fatalf("inspect: %v", err)
		}
		state.Since = time.Time{} // restartKeeps looks at it
		return state
	}
	if state := inspect(1); state != (engine.AttemptState{}) {
		t.Errorf("before the claim: %+v, want nothing", state)
	}
	publish(t, q, task)
	if state := inspect(1); !state.Waits {
		t.Errorf("while the task waits: %+v", state)
	}
	if other := inspect(2); other.Waits {
		t.Errorf("another attempt: %+v, and its task is not there", other)
	}
	before := time.Now()
	token := lock(t, q, task.Lock, holder(task, "one"), 10*time.Second)
	begun := started(task, "one", token)
	sequence := claim(t, q, begun)
	state := inspect(1)
	if state.Last != engine.ResultStarted || state.Sequence != sequence || !state.LockHeld ||
		state.LockUntil.Before(before.Add(9*time.Second)) || state.LockUntil.After(time.Now().Add(11*time.Second)) {
		t.Errorf("after the claim: %+v, want started at %d with a lock for 10 s", state, sequence)
	}
	if other := inspect(2); other.LockHeld || other.Last != "" {
		t.Errorf("another attempt: %+v, want nothing", other)
	}
	end, err := q.Report(patient(t), finished(begun), sequence)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Unlock(patient(t), task.Lock, token); err != nil {
		t.Fatal(err)
	}
	if state := inspect(1); state.Last != engine.ResultFinished || state.Sequence != end || state.LockHeld {
		t.Errorf("after the end: %+v, want finished at %d and no lock", state, end)
	}
}
