package jetstream

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/executor"
)

func TestLockIsOverdueOnceItStoodUnchangedForLongerThanItsLife(t *testing.T) {
	t.Parallel()
	const life = 10 * time.Second
	start := time.Now()
	o := overdue{after: overdueAfter}
	for _, look := range []struct {
		after    time.Duration
		key      string
		revision uint64
		want     bool
	}{
		{0, "a", 1, false},
		{life, "a", 1, false},
		{life + overdueAfter + 1, "a", 1, true},
		{life + overdueAfter + 2, "a", 2, false}, // it was refreshed
		{life + overdueAfter + 3, "b", 3, false}, // another one
		{2*life + 2*overdueAfter, "a", 2, false},
		{sightingLife + 1, "a", 2, true}, // seen again meanwhile
		{3*sightingLife + 2, "x", 9, false},
		{4*sightingLife + 3, "b", 3, false}, // forgotten, and seen again
		{4*sightingLife + 3 + life + overdueAfter + 1, "b", 3, true},
	} {
		if got := o.is(look.key, look.revision, life, start.Add(look.after)); got != look.want {
			t.Errorf("after %s, lock %s at revision %d is overdue: %t, want %t", look.after, look.key, look.revision, got, look.want)
		}
	}
}

// An entry that the server does not remove locks no executor out for ever, and keeps no attempt alive.
func TestLockThatTheServerForgetsToRemoveIsTaken(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() { shutdown(t, server) })
	q := connect(t, Config{Server: server})
	q.overdue.after = 0
	dead := executor.LockHolder{Run: "run", Attempt: 1, Executor: "dead"}
	message := newOutgoing(q.names.lock("key"))
	var err error
	if message.Data, err = encodeHolder(message.Data, dead); err != nil {
		t.Fatal(err)
	}
	none := uint64(0)
	left, err := q.publish(t.Context(), message, &none) // without a life: the server keeps it
	if err != nil {
		t.Fatal(err)
	}
	next := executor.LockHolder{Run: "run", Attempt: 2, Executor: "next"}
	var held *executor.HeldError
	if _, err := q.Lock(t.Context(), "key", next, time.Minute); !errors.As(err, &held) || held.Holder != dead {
		t.Fatalf("seen for the first time, it is %v", err)
	}
	if state, err := q.Inspect(t.Context(), core.Inspect{Run: "run", Attempt: 1, Locks: []string{"key"}}); err != nil || state.LockHeld {
		t.Errorf("inspected again, the attempt's lock is %+v, %v", state, err)
	}
	token, err := q.Lock(t.Context(), "key", next, time.Minute)
	if err != nil || token <= left {
		t.Fatalf("seen again, it gives the token %d after %d, %v", token, left, err)
	}
	if _, err := q.Refresh(t.Context(), "key", dead, left, time.Minute); !errors.Is(err, executor.ErrFenced) {
		t.Errorf("who had it refreshes it: %v", err)
	}
	if state, err := q.Inspect(t.Context(), core.Inspect{Run: "run", Attempt: 2, Locks: []string{"key"}}); err != nil || !state.LockHeld {
		t.Errorf("the next one's lock is %+v, %v", state, err)
	}
}

// A server that was killed may bring back what it had removed, beside a list of lives that does not have it any more.
func TestEntryThatACrashBringsBackExpiresAgain(t *testing.T) {
	t.Parallel()
	folder, before := t.TempDir(), t.TempDir()
	server := startServer(t, folder, "")
	q := connect(t, Config{Server: server})
	holder := executor.LockHolder{Run: "run", Attempt: 1, Executor: "x"}
	gone := awaitGone(t, q, "key")
	if _, err := q.Lock(t.Context(), "key", holder, time.Second); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(before, os.DirFS(folder)); err != nil { // with the entry
		t.Fatal(err)
	}
	gone()
	q.Close()
	shutdown(t, server) // writes the list of lives, without the entry

	lives := filepath.Join("jetstream", "$G", "streams", "KV_LOCKS", "msgs", "thw.db")
	list, err := os.ReadFile(filepath.Join(folder, lives))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(before, lives), list, 0o600); err != nil {
		t.Fatal(err)
	}
	again := startServer(t, before, "")
	t.Cleanup(func() { shutdown(t, again) })
	q = connect(t, Config{Server: again})
	awaitGone(t, q, "key")()
}

// awaitGone begins to watch a lock; what it returns waits until the lock has gone.
func awaitGone(t *testing.T, q *Queue, key string) (wait func()) {
	t.Helper()
	kv, err := q.js.KeyValue(t.Context(), q.names.locks)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	watcher, err := kv.Watch(ctx, "lock."+key)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		defer cancel()
		defer func() { _ = watcher.Stop() }()
		for initial := true; ; {
			select {
			case entry := <-watcher.Updates():
				if entry == nil {
					initial = false
				} else if entry.Operation() != jetstream.KeyValuePut {
					return
				} else if initial {
					t.Logf("%s is there", key)
				}
			case <-ctx.Done():
				t.Fatal("the lock is still there")
			}
		}
	}
}
