package jetstream

import (
	"context"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// An executor that stops in good order announces it. One whose presence expires does not: its fate is unknown.
func TestOnlyExecutorsThatWithdrawLeave(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() { shutdown(t, server) })
	q := connect(t, Config{Server: server})
	announce := func(id string, ttl time.Duration) {
		t.Helper()
		if err := q.Announce(t.Context(), engine.Presence{ID: id}, ttl); err != nil {
			t.Fatal(err)
		}
	}
	announce("before", time.Minute)
	announce("silent", time.Second)
	left := make(chan string, 10)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- q.WatchLeaving(ctx, func(id string) { left <- id }) }()
	limit, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for { // until the server has removed it, of which there is a mark in the same stream
		present, err := q.Executors(limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(present) == 1 {
			break
		}
	}
	for _, id := range []string{"before", "later"} {
		for got := ""; got != id; {
			announce(id, time.Minute)
			announce(id, 0)
			select {
			case got = <-left:
				if got == "silent" {
					t.Error("one whose presence has expired is said to have left")
				}
			case <-time.After(5 * time.Second): // while there is no connection nothing is reported, and a machine may stand still that long
			case <-limit.Done():
				t.Fatalf("that %s has left is not reported", id)
			}
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
