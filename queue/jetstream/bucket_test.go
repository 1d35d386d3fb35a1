package jetstream

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tidewheel/tidewheel/executor"
)

// TestFencingTokensGrowThroughEveryLoss takes the same lock over and over, with everything lost in between that can be:
// the lock, the connection, the server, the bucket, and all that the server has ever stored.
func TestFencingTokensGrowThroughEveryLoss(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	server := startServer(t, folder, "")
	end := func() {
		t.Helper()
		if err := server.Shutdown(); err != nil {
			t.Fatal(err)
		}
	}
	q := connect(t, Config{Server: server})
	holder := func(attempt int) executor.LockHolder {
		return executor.LockHolder{Run: "uid-s1", Attempt: attempt, Executor: "one"}
	}
	var last uint64
	take := func(after string) {
		t.Helper()
		for attempt := range 20 {
			token, err := q.Lock(t.Context(), "uid", holder(attempt), time.Minute)
			if err != nil {
				t.Fatalf("after %s: %v", after, err)
			}
			if token <= last {
				t.Fatalf("after %s: token %d comes after %d", after, token, last)
			}
			last = token
			// What a long run leaves in between.
			revision, err := q.Refresh(t.Context(), "uid", holder(attempt), token, time.Minute)
			if err != nil {
				t.Fatalf("after %s: refresh: %v", after, err)
			}
			if err := q.Unlock(t.Context(), "uid", revision); err != nil {
				t.Fatalf("after %s: unlock: %v", after, err)
			}
		}
	}
	take("nothing")
	if last >= 1<<53 {
		t.Errorf("token %d is more than a number of JSON can say", last)
	}
	q = connect(t, Config{Server: server})
	take("another connection")
	end()
	server = startServer(t, folder, "")
	q = connect(t, Config{Server: server})
	take("a restart of the server")
	if err := q.js.DeleteKeyValue(t.Context(), q.names.locks); err != nil {
		t.Fatal(err)
	}
	q = connect(t, Config{Server: server})
	take("the loss of the bucket")
	end()
	if err := os.RemoveAll(filepath.Join(folder, "jetstream")); err != nil {
		t.Fatal(err)
	}
	server = startServer(t, folder, "")
	t.Cleanup(end)
	q = connect(t, Config{Server: server})
	take("the loss of everything")
}

// TestTokensOfRunsThatOverlapDiffer has many runs of one job at once, each under a lock of its own: no two have the
// same token, and the run that began later has the greater one.
func TestTokensOfRunsThatOverlapDiffer(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() {
		if err := server.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	q := connect(t, Config{Server: server})
	var last uint64
	for round := range 5 {
		tokens := make([]uint64, 20)
		var group sync.WaitGroup
		for i := range tokens {
			group.Go(func() {
				run := fmt.Sprintf("uid-s%d", 100*round+i)
				token, err := q.Lock(t.Context(), run, executor.LockHolder{Run: run, Attempt: 1, Executor: "one"}, time.Minute)
				if err != nil {
					t.Error(err)
				}
				tokens[i] = token
			})
		}
		group.Wait()
		seen, before := map[uint64]bool{}, last
		for _, token := range tokens {
			if token <= before || seen[token] {
				t.Fatalf("round %d: tokens %v after %d", round, tokens, before)
			}
			seen[token] = true
			last = max(last, token)
		}
	}
}

// TestBucketOfAnEarlierVersionKeepsItsSequence finds the bucket as it was made through the API of buckets.
func TestBucketOfAnEarlierVersionKeepsItsSequence(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() {
		if err := server.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	q := connect(t, Config{Server: server})
	ctx := context.WithoutCancel(t.Context())
	if err := q.js.DeleteKeyValue(ctx, q.names.locks); err != nil {
		t.Fatal(err)
	}
	_, err := q.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: q.names.locks, Description: "Tidewheel: who runs what", History: 1, Storage: jetstream.FileStorage, Replicas: 1, LimitMarkerTTL: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	holder := executor.LockHolder{Run: "uid-s1", Attempt: 1, Executor: "one"}
	first, err := q.Lock(ctx, "uid", holder, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	q = connect(t, Config{Server: server})
	if _, err := q.Refresh(ctx, "uid", holder, first, time.Minute); err != nil {
		t.Errorf("a lock from before: %v", err)
	}
	second, err := q.Lock(ctx, "other", holder, time.Minute)
	if err != nil || second <= first {
		t.Errorf("token %d after %d: %v", second, first, err)
	}
}
