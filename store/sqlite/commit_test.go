package sqlite

import (
	"errors"
	"fmt"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
)

// commitOf puts some runs at a position of the first term of a shard.
func commitOf(shard int, position uint64, from, to int) engine.ShardCommit {
	decision := &engine.Batch{}
	for n := from; n < to; n++ {
		decision.Runs = append(decision.Runs, testRun(n))
	}
	return engine.ShardCommit{Shard: shard, Term: 1, Position: position, Batch: decision}
}

func TestCommitsThatFindNoSpaceAreWrittenWhenTheyAreGivenAgain(t *testing.T) {
	store, _ := openStore(t)
	ctx := t.Context()
	for shard := range 3 {
		if term, err := store.Take(ctx, shard, "ada"); err != nil || term != (engine.Term{Number: 1}) {
			t.Fatalf("take: %v, %v", term, err)
		}
	}
	store.number(t, fmt.Sprintf("PRAGMA max_page_count = %d", store.number(t, "PRAGMA page_count")+20))

	commits := []engine.ShardCommit{commitOf(0, 1, 0, 10), commitOf(1, 1, 10, 1000)}
	for range 2 {
		for _, err := range store.Commit(ctx, commits) {
			if !errors.Is(err, engine.ErrFull) {
				t.Fatalf("got %v", err)
			}
		}
		if runs, err := store.ActiveRuns(ctx, []int{0}, "", 2000); err != nil || len(runs) != 0 {
			t.Fatalf("%d runs, %v", len(runs), err)
		}
	}
	// A commit of another call has space, even if it is written together with them.
	large := make(chan []error)
	go func() { large <- store.Commit(ctx, commits) }()
	if err := store.Commit(ctx, []engine.ShardCommit{commitOf(2, 1, 1000, 1010)})[0]; err != nil {
		t.Fatal(err)
	}
	if errs := <-large; !errors.Is(errors.Join(errs...), engine.ErrFull) {
		t.Fatalf("got %v", errs)
	}
	store.number(t, "PRAGMA max_page_count = 1000000")
	if err := errors.Join(store.Commit(ctx, commits)...); err != nil {
		t.Fatal(err)
	}
	if runs, err := store.ActiveRuns(ctx, []int{0}, "", 2000); err != nil || len(runs) != 1010 {
		t.Fatalf("%d runs in the end, %v", len(runs), err)
	}
	for shard := range 3 {
		if term, err := store.Take(ctx, shard, "grace"); err != nil || term != (engine.Term{Number: 2, Position: 1}) {
			t.Fatalf("take again: %v, %v", term, err)
		}
	}
}

// Who finds a request gone finds what the engine has made of it.
func TestADeletedCommandHasStoredItsRun(t *testing.T) {
	store, _ := openStore(t)
	ctx := t.Context()
	if _, err := store.Take(ctx, 0, "ada"); err != nil {
		t.Fatal(err)
	}
	for n := range 300 {
		run := testRun(n)
		command := engine.Command{ID: engine.StartCommand(run.ID), Shard: 0, Kind: engine.CommandStart, RunID: run.ID, Run: &run}
		if err := store.PutCommand(ctx, command); err != nil {
			t.Fatal(err)
		}
		commit := commitOf(0, uint64(n+1), n, n+1)
		for other := range 200 { // to show them takes a while
			commit.Batch.Runs = append(commit.Batch.Runs, testRun(1000+other))
		}
		commit.Batch.Done = []engine.CommandDone{{ID: command.ID, At: command.At}}
		written := make(chan error, 1)
		go func() { written <- store.Commit(ctx, []engine.ShardCommit{commit})[0] }()
		for {
			if _, err := store.Command(ctx, command.ID); errors.Is(err, engine.ErrNotFound) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := store.Run(ctx, run.ID); err != nil {
			t.Fatal(err)
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
	}
}
