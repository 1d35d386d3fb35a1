package queuetest

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/lease"
)

var leases = map[string]func(*testing.T, Harness){
	"of many engines that acquire a shard one gets it":        leaseRace,
	"only the owner renews its lease":                         leaseRenewed,
	"a lease that was released is acquired under its marker":  leaseReleased,
	"a lease that is not renewed ends, and everybody sees it": leaseExpires,
	"a watcher gets all entries, and then each change":        leaseWatched,
	"tokens of a shard grow, whichever engine owns it":        leaseTokens,
}

func engineID() string { return "engine-" + strings.ToLower(rand.Text()[:8]) }

const leaseTTL = time.Minute

func leaseRace(t *testing.T, h Harness) {
	q := h.Connect(t)
	for shard := range 10 {
		var mu sync.Mutex
		won := 0
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				_, err := q.AcquireLease(patient(t), shard, engineID(), 0, leaseTTL)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won++
				} else if !errors.Is(err, lease.ErrRefused) {
					t.Errorf("acquire: %v", err)
				}
			})
		}
		all.Wait()
		if won != 1 {
			t.Fatalf("%d engines own shard %d", won, shard)
		}
	}
}

func acquire(t *testing.T, q Queue, shard int, id string, revision uint64) uint64 {
	t.Helper()
	token, err := q.AcquireLease(patient(t), shard, id, revision, leaseTTL)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func leaseRenewed(t *testing.T, h Harness) {
	q, other := h.Connect(t), h.Connect(t)
	one, two := engineID(), engineID()
	first := acquire(t, q, 7, one, 0)
	second, err := q.RenewLease(patient(t), 7, one, first, leaseTTL)
	if err != nil || second <= first {
		t.Fatalf("renewed to %d after %d: %v", second, first, err)
	}
	if _, err := other.RenewLease(patient(t), 7, two, first, leaseTTL); !errors.Is(err, lease.ErrRefused) {
		t.Errorf("another engine renews a revision of before: %v", err)
	}
	if _, err := other.AcquireLease(patient(t), 7, two, first, leaseTTL); !errors.Is(err, lease.ErrRefused) {
		t.Errorf("another engine acquires what is owned: %v", err)
	}
	// The answer was lost, so the owner asks again; and once more. Each gives the entry another life: one that began with the
	// first would end before its owner thinks.
	for range 2 {
		again, err := q.RenewLease(patient(t), 7, one, first, leaseTTL)
		if err != nil || again <= second {
			t.Errorf("the same renewal again gives %d, want one after %d: %v", again, second, err)
		}
		second = again
	}
	if _, err := q.AcquireLease(patient(t), 7, one, second, leaseTTL); err != nil {
		t.Errorf("an owner cannot take up its own entry: %v", err)
	}
}

func leaseReleased(t *testing.T, h Harness) {
	q := h.Connect(t)
	one, two := engineID(), engineID()
	token := acquire(t, q, 3, one, 0)
	if _, err := q.ReleaseLease(patient(t), 3, token-1); !errors.Is(err, lease.ErrRefused) {
		t.Errorf("a lease was released under another revision: %v", err)
	}
	marker, err := q.ReleaseLease(patient(t), 3, token)
	if err != nil {
		t.Fatal(err)
	}
	next := acquire(t, q, 3, two, marker)
	if next <= marker || marker <= token {
		t.Errorf("revisions %d, %d, %d do not grow", token, marker, next)
	}
	if _, err := q.RenewLease(patient(t), 3, one, token, leaseTTL); !errors.Is(err, lease.ErrRefused) {
		t.Errorf("the owner before renews: %v", err)
	}
}

func leaseTokens(t *testing.T, h Harness) {
	q := h.Connect(t)
	last := uint64(0)
	for range 5 {
		token := acquire(t, q, 9, engineID(), 0) // whatever the marker's revision is
		if token <= last {
			t.Fatalf("token %d after %d", token, last)
		}
		last = token
		if _, err := q.ReleaseLease(patient(t), 9, token); err != nil {
			t.Fatal(err)
		}
	}
}

// watch collects the changes of leases.
type leaseWatch struct {
	mu     sync.Mutex
	seen   []lease.Input
	synced int // how many changes had come by then
}

func watchLeases(t *testing.T, q Queue) *leaseWatch {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &leaseWatch{synced: -1}
	var done sync.WaitGroup
	done.Go(func() {
		err := q.WatchLeases(ctx, func(in lease.Input) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if _, ok := in.(lease.Synced); ok {
				w.synced = len(w.seen)
				return
			}
			w.seen = append(w.seen, in)
		})
		if err != nil {
			t.Errorf("watch leases: %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		done.Wait()
	})
	await(t, "all entries have been delivered", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.synced >= 0
	})
	return w
}

// last returns the latest entry of a shard that has come.
func (w *leaseWatch) last(shard int) (entry lease.Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, in := range w.seen {
		if s, ok := in.(lease.Seen); ok && s.Entry.Shard == shard {
			entry = s.Entry
		}
	}
	return entry
}

func leaseExpires(t *testing.T, h Harness) {
	q := h.Connect(t)
	w := watchLeases(t, h.Connect(t))
	id := engineID()
	begun := time.Now()
	token, err := q.AcquireLease(patient(t), 5, id, 0, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the owner is seen", func() bool { return w.last(5) == lease.Entry{Shard: 5, Engine: id, Revision: token} })
	await(t, "the end is seen", func() bool { return w.last(5).Engine == "" })
	if took := time.Since(begun); took < time.Second {
		t.Errorf("it ended after %v", took)
	}
	if revision := w.last(5).Revision; revision <= token {
		t.Errorf("the marker has revision %d, the entry had %d", revision, token)
	}
}

func leaseWatched(t *testing.T, h Harness) {
	q := h.Connect(t)
	id := engineID()
	token := acquire(t, q, 11, id, 0)
	presence := engine.EnginePresence{ID: id, Host: "host", Since: time.Now().UTC()}
	if err := q.AnnounceEngine(patient(t), presence, leaseTTL); err != nil {
		t.Fatal(err)
	}
	w := watchLeases(t, h.Connect(t))
	if got := w.last(11); got != (lease.Entry{Shard: 11, Engine: id, Revision: token}) {
		t.Errorf("at the beginning shard 11 is reported as %+v", got)
	}
	member := func() (m lease.Member) {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, in := range w.seen {
			if s, ok := in.(lease.SeenMember); ok && s.Member.ID == id {
				m = s.Member
			}
		}
		return m
	}
	if got := member(); got != (lease.Member{ID: id}) {
		t.Errorf("at the beginning the engine is reported as %+v", got)
	}
	presence.Leaving = true
	if err := q.AnnounceEngine(patient(t), presence, leaseTTL); err != nil {
		t.Fatal(err)
	}
	await(t, "it is reported as leaving", func() bool { return member().Leaving })
	engines, err := q.Engines(patient(t))
	if err != nil || len(engines) != 1 || engines[0].ID != id || !engines[0].Leaving {
		t.Errorf("engines: %+v, %v", engines, err)
	}
	if err := q.AnnounceEngine(patient(t), presence, 0); err != nil {
		t.Fatal(err)
	}
	await(t, "it is reported as gone", func() bool { return member().Gone })
}
