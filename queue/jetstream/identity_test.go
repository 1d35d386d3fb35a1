package jetstream

import (
	"errors"
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
	err := two.ClaimFor(t.Context(), "store-b", time.Second)
	var foreign *ForeignError
	if !errors.As(err, &foreign) || foreign.Store != "store-a" {
		t.Fatalf("another store is served: %v", err)
	}
	wantError(t, err, "a NATS of its own", "store-a")
	for deadline := time.Now().Add(30 * time.Second); err != nil && time.Now().Before(deadline); { // nobody speaks for the first any more
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
