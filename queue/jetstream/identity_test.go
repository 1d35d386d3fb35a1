package jetstream

import (
	"errors"
	"strconv"
	"testing"
	"time"
)

func TestQueueServesOneStoreAtATime(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() { shutdown(t, server) })
	one, two := connect(t, Config{Server: server}), connect(t, Config{Server: server})
	for _, q := range []*Queue{one, two, one} { // two nodes with the same store
		if err := q.ClaimFor(t.Context(), "store-a", time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if store, err := one.Serves(t.Context()); store != "store-a" || err != nil {
		t.Errorf("it serves %q, %v", store, err)
	}
	err := two.ClaimFor(t.Context(), "store-b", time.Second)
	var foreign *ForeignError
	if !errors.As(err, &foreign) || foreign.Store != "store-a" {
		t.Fatalf("another store is served: %v", err)
	}
	wantError(t, err, "a NATS of its own", "store-a")
	for deadline := time.Now().Add(30 * time.Second); err != nil && time.Now().Before(deadline); { // the first claim expires
		err = two.ClaimFor(t.Context(), "store-b", time.Minute)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := one.ClaimFor(t.Context(), "store-a", time.Minute); !errors.As(err, &foreign) {
		t.Errorf("the first comes back beside the second: %v", err)
	}
	if err := one.ClaimFor(t.Context(), "store.a", time.Minute); err == nil {
		t.Error("a name that is none was taken")
	}
}

func TestQueueHasAnIdentity(t *testing.T) {
	t.Parallel()
	server, other := startServer(t, t.TempDir(), ""), startServer(t, t.TempDir(), "")
	t.Cleanup(func() { shutdown(t, server); shutdown(t, other) })
	got := map[string]int{}
	for _, config := range []Config{{Server: server}, {Server: server}, {Server: other}} {
		id, err := connect(t, config).Identity(t.Context())
		if err != nil || id == "" {
			t.Fatalf("%q, %v", id, err)
		}
		got[id]++
	}
	if len(got) != 2 {
		t.Errorf("two servers have the identities %v", got)
	}
}

// A node that would misunderstand the others does not start. An older one may have been here before.
func TestNodeThatIsTooOldIsRefused(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() { shutdown(t, server) })
	q := connect(t, Config{Server: server})
	if store, err := q.Serves(t.Context()); store != "" || err != nil {
		t.Errorf("before anybody said so it serves %q, %v", store, err)
	}
	say := func(number string) {
		t.Helper()
		message := newOutgoing(q.names.entry("protocol"))
		message.Data = append(message.Data, number...)
		if _, err := q.publish(t.Context(), message, nil); err != nil {
			t.Fatal(err)
		}
	}
	say("0")
	connect(t, Config{Server: server})
	last, err := q.last(t.Context(), "KV_"+q.names.leases, q.names.entry("protocol"))
	if err != nil || last == nil || string(last.data) != strconv.Itoa(protocol) {
		t.Errorf("after an older one it says %+v, %v", last, err)
	}
	say(strconv.Itoa(protocol + 1))
	_, err = Connect(t.Context(), Config{Server: server, Logger: testLog(t)})
	var newer *NewerError
	if !errors.As(err, &newer) || newer.Found != protocol+1 {
		t.Fatalf("among newer ones: %v", err)
	}
	wantError(t, err, "newer Tidewheel", "update this node")
}
