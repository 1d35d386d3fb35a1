package jetstream

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tidewheel/tidewheel/engine/lease"
)

// The consumer of a watch may die with its server, while the connection is to another one. Then nothing comes any more,
// no word that it stands either.
func TestWatchRecreatesALostConsumer(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() { shutdown(t, server) })
	q := connect(t, Config{Server: server})
	if _, err := q.AcquireLease(t.Context(), 3, "one", 0, time.Minute); err != nil {
		t.Fatal(err)
	}
	inputs := make(chan lease.Input, 100)
	ctx := t.Context()
	go func() { _ = q.WatchLeases(ctx, func(in lease.Input) { inputs <- in }) }()
	next := func() lease.Input {
		t.Helper()
		select {
		case in := <-inputs:
			return in
		case <-time.After(time.Minute):
			t.Fatal("nothing is delivered")
			return nil
		}
	}
	begins := func(owner string) {
		t.Helper()
		if seen, ok := next().(lease.Seen); !ok || seen.Entry.Shard != 3 || seen.Entry.Engine != owner {
			t.Errorf("it begins with %+v, want shard 3 of %s", seen, owner)
		}
		if in, ok := next().(lease.Synced); !ok {
			t.Errorf("then comes %T, want that all was delivered", in)
		}
	}
	begins("one")
	var names struct {
		Consumers []string `json:"consumers"`
	}
	if err := q.ask(ctx, "CONSUMER.NAMES.KV_"+q.names.leases, struct{}{}, &names); err != nil || len(names.Consumers) != 1 {
		t.Fatalf("consumers %v, %v", names.Consumers, err)
	}
	if err := q.ask(ctx, "CONSUMER.DELETE.KV_"+q.names.leases+"."+names.Consumers[0], struct{}{}, nil); err != nil {
		t.Fatal(err)
	}
	entry, err := q.last(ctx, "KV_"+q.names.leases, q.names.lease(3))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.RenewLease(ctx, 3, "two", entry.sequence, time.Minute); err != nil { // this goes unnoticed
		t.Fatal(err)
	}
	if in, ok := next().(lease.Lost); !ok {
		t.Errorf("delivered was %T, want that something may be missing", in)
	}
	begins("two")
}

// A message that is missing ends a watch at once: what comes after it would be believed to be all there was.
func TestWatchEndsWhereAMessageIsMissing(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() { shutdown(t, server) })
	q := connect(t, Config{Server: server})
	if _, err := q.AcquireLease(t.Context(), 3, "one", 0, time.Minute); err != nil {
		t.Fatal(err)
	}
	synced := func() bool { // one message has come, and a heartbeat says that there were two
		for _, inbox := range watchInboxes(t, q) {
			message := nats.NewMsg(inbox)
			message.Header = nats.Header{"Status": {"100"}, "Nats-Last-Consumer": {"2"}}
			if err := q.conn.PublishMsg(message); err != nil {
				t.Error(err)
			}
		}
		return true
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	began := time.Now()
	if err := q.watch(ctx, q.names.leases, []string{"shard.*"}, synced, func(*stored) {}); !errors.Is(err, errStale) {
		t.Errorf("got %v after %s, want errStale", err, time.Since(began))
	}
}

// watchInboxes finds where watches hear.
func watchInboxes(t *testing.T, q *Queue) (inboxes []string) {
	t.Helper()
	var list struct {
		Consumers []struct {
			Config struct {
				Deliver string `json:"deliver_subject"`
			} `json:"config"`
		} `json:"consumers"`
	}
	if err := q.ask(t.Context(), "CONSUMER.LIST.KV_"+q.names.leases, struct{}{}, &list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Consumers {
		inboxes = append(inboxes, list.Consumers[i].Config.Deliver)
	}
	return inboxes
}
