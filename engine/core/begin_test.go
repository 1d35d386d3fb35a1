package core_test

import (
	"slices"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
)

// What may begin once at most begins when its claim is durable.

// beginBench has published the first attempt of a run that may begin once.
func beginBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	for _, line := range [][]string{{"define", "delivery=at_most_once", "tries=3"}, {"run", "one"}} {
		b.do(line)
	}
	return b
}

// say gives a message of an executor whose claim has that token, and returns what the core did.
func (b *bench) says(kind engine.ResultKind, token uint64, finish *engine.Finish) []string {
	b.t.Helper()
	b.out = nil
	b.step(core.ResultsReceived{Results: []engine.Result{{
		Kind: kind, Run: b.runID("one"), Attempt: 1, Shard: benchShard, Executor: "x", Token: token, At: b.now,
		Asks: finish == nil, Finish: finish,
	}}})
	return b.out
}

func TestTheClaimIsDurableBeforeAProgramMayBeginOnce(t *testing.T) {
	b := beginBench(t)
	want := []string{"run one running #1", "then begin one/1"}
	if got := b.says(engine.ResultStarted, 1, nil); !slices.Equal(got, want) {
		t.Errorf("the claim led to %q, want %q", got, want)
	}
	for range 2 { // its question, or the answer, was lost
		if got, want := b.says(engine.ResultProgress, 1, nil), []string{"then begin one/1"}; !slices.Equal(got, want) {
			t.Errorf("its question led to %q, want %q", got, want)
		}
	}
}

// TestASecondClaimMayNotBegin: the queue has lost the claim of the executor that runs the program, and given the task again.
func TestASecondClaimMayNotBegin(t *testing.T) {
	b := beginBench(t)
	b.says(engine.ResultStarted, 1, nil)
	for _, kind := range []engine.ResultKind{engine.ResultStarted, engine.ResultProgress} {
		if got := b.says(kind, 2, nil); len(got) > 0 {
			t.Errorf("the second executor says %s, which led to %q", kind, got)
		}
	}
	b.do([]string{"crash"})
	b.load()
	b.says(engine.ResultStarted, 1, nil) // comes again
	if got := b.says(engine.ResultStarted, 2, nil); len(got) > 0 {
		t.Errorf("after a restart the second claim led to %q", got)
	}
	gaveUp := &engine.Finish{Status: engine.StatusFailed, HandedBack: true, Unfetched: true, Error: "not allowed to begin",
		FinishedAt: b.now}
	got := b.says(engine.ResultFinished, 2, gaveUp)
	if want := "run one lost #1: the executor that ran it vanished"; !slices.Contains(got, want) {
		t.Errorf("the second executor gives up, which led to %q, want %q", got, want)
	}
}

// TestAnAttemptThatIsCancelledWhileTheOneBeforeIsTakenBackEnds: the answer about the attempt before comes when the next one
// waits in the queue already.
func TestAnAttemptThatIsCancelledWhileTheOneBeforeIsTakenBackEnds(t *testing.T) {
	b := newBench(t)
	for _, line := range [][]string{
		{"define", "every=60s", "tries=3"}, {"at", "59.75s"}, {"quietly", "define", "every=50s", "tries=3"}, {"restart", "59.8s"},
		{"started", "60s/1"}, {"handback", "60s/1"}, {"cancel", "60s"},
	} {
		b.do(line)
	}
	if !slices.Contains(b.out, "then revoke 60s/1") || slices.Contains(b.out, "then revoke 60s/2") {
		t.Fatalf("the first attempt is not being taken back: %q", b.out)
	}
	b.do([]string{"revoked", "60s/1", "no"})
	if !slices.Contains(b.out, "then revoke 60s/2") {
		t.Errorf("the attempt that waits is not taken back: %q", b.out)
	}
}
