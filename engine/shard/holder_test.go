package shard_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/lease"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/spec"
)

// memLeases is the table of leases in memory.
type memLeases struct {
	mu       sync.Mutex
	last     uint64
	shards   map[int]lease.Entry
	members  map[string]lease.Member
	ends     map[string]*time.Timer
	watchers map[int]chan lease.Input
	away     map[string]bool // engines that do not reach it
}

func newMemLeases() *memLeases {
	return &memLeases{
		shards: map[int]lease.Entry{}, members: map[string]lease.Member{}, ends: map[string]*time.Timer{},
		watchers: map[int]chan lease.Input{}, away: map[string]bool{},
	}
}

func (l *memLeases) tell(in lease.Input) {
	for _, watcher := range l.watchers {
		watcher <- in
	}
}

func (l *memLeases) put(number int, owner string, ttl time.Duration) uint64 {
	l.last++
	entry := lease.Entry{Shard: number, Engine: owner, Revision: l.last}
	l.shards[number] = entry
	l.tell(lease.Seen{Entry: entry})
	l.end(fmt.Sprint(number), ttl, func() {
		if l.shards[number] == entry && owner != "" {
			l.put(number, "", 0)
		}
	})
	return entry.Revision
}

func (l *memLeases) end(key string, ttl time.Duration, do func()) {
	if timer := l.ends[key]; timer != nil {
		timer.Stop()
	}
	if ttl > 0 {
		l.ends[key] = time.AfterFunc(ttl, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			do()
		})
	}
}

func (l *memLeases) AcquireLease(_ context.Context, number int, id string, revision uint64, ttl time.Duration) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch at := l.shards[number]; {
	case l.away[id]:
		return 0, errors.New("away")
	case at.Engine != "" && at.Revision != revision:
		return 0, lease.ErrRefused
	}
	return l.put(number, id, ttl), nil
}

func (l *memLeases) RenewLease(_ context.Context, number int, id string, revision uint64, ttl time.Duration) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.away[id]:
		return 0, errors.New("away")
	case l.shards[number].Revision != revision:
		return 0, lease.ErrRefused
	}
	return l.put(number, id, ttl), nil
}

func (l *memLeases) ReleaseLease(_ context.Context, number int, revision uint64) (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shards[number].Revision != revision {
		return 0, lease.ErrRefused
	}
	return l.put(number, "", 0), nil
}

func (l *memLeases) AnnounceEngine(_ context.Context, presence engine.EnginePresence, ttl time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away[presence.ID] {
		return errors.New("away")
	}
	m := lease.Member{ID: presence.ID, Leaving: presence.Leaving, Gone: ttl == 0}
	l.members[m.ID] = m
	l.tell(lease.SeenMember{Member: m})
	l.end(m.ID, ttl, func() {
		l.members[m.ID] = lease.Member{ID: m.ID, Gone: true}
		l.tell(lease.SeenMember{Member: l.members[m.ID]})
	})
	return nil
}

func (l *memLeases) WatchLeases(ctx context.Context, handle func(lease.Input)) error {
	l.mu.Lock()
	watcher := make(chan lease.Input, 10_000)
	number := len(l.watchers)
	l.watchers[number] = watcher
	for _, entry := range l.shards {
		watcher <- lease.Seen{Entry: entry}
	}
	for _, m := range l.members {
		watcher <- lease.SeenMember{Member: m}
	}
	watcher <- lease.Synced{}
	l.mu.Unlock()
	for {
		select {
		case in := <-watcher:
			handle(in)
		case <-ctx.Done():
			return nil
		}
	}
}

const leaseTTL = 3 * time.Second

// startHolder runs an engine that shares its shards with others.
func (w *world) startHolder(table *memLeases, id string) (holder *shard.Holder, leave func()) {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(w.t.Output(), nil))
	runner := shard.NewRunner(shard.DefaultConfig(), w.store, w.queue, nil, log, nil)
	holder, err := shard.NewHolder(lease.DefaultConfig(leaseTTL), engine.EnginePresence{ID: id}, table, runner, log)
	if err != nil {
		w.t.Fatal(err)
	}
	running, end := context.WithCancelCause(w.t.Context())
	holding, left := context.WithCancel(w.t.Context())
	var work sync.WaitGroup
	stopped := errors.New("the test stops it")
	work.Go(func() {
		if err := runner.Run(running); !errors.Is(err, stopped) {
			w.t.Errorf("the runner ended with %v", err)
		}
	})
	work.Go(func() {
		if err := holder.Run(holding); err != nil {
			w.t.Error(err)
		}
		end(stopped)
	})
	return holder, func() {
		left()
		work.Wait()
	}
}

// Engines come, leave and are cut off from the table while jobs run: each slot fires once.
func TestHoldersShareTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 200*time.Millisecond)
		table := newMemLeases()
		a, leaveA := w.startHolder(table, "a")
		<-a.Begun()
		const jobs = 30
		for i := range jobs {
			w.create(fmt.Sprintf("tick%d", i), func(j *spec.Job) {
				j.Every, j.CatchUp.Policy, j.Overlap = spec.Duration(time.Second), spec.CatchUpAll, spec.OverlapQueue
			})
		}
		pass(3 * time.Second)
		b, leaveB := w.startHolder(table, "b")
		pass(2 * time.Second)
		if a.Owned() != engine.Shards/2 || b.Owned() != engine.Shards/2 {
			t.Errorf("a owns %d shards, b %d", a.Owned(), b.Owned())
		}
		if a.Owns(0) == b.Owns(0) {
			t.Errorf("of two, one has the first shard: a %t, b %t", a.Owns(0), b.Owns(0))
		}
		table.mu.Lock()
		table.away["a"] = true
		table.mu.Unlock()
		pass(leaseTTL + time.Second)
		if a.Owned() != 0 || b.Owned() != engine.Shards {
			t.Errorf("a is cut off and owns %d shards, b %d", a.Owned(), b.Owned())
		}
		table.mu.Lock()
		table.away["a"] = false
		table.mu.Unlock()
		pass(3 * time.Second)
		leaveB()
		pass(100 * time.Millisecond)
		if a.Owned() != engine.Shards {
			t.Errorf("b has left, and a owns %d shards", a.Owned())
		}
		pass(3*time.Second + 600*time.Millisecond)
		leaveA()
		w.queue.work.Wait()
		for i := range jobs {
			runs := w.runs(fmt.Sprintf("tick%d", i))
			for n := 1; n < len(runs); n++ {
				if gap := runs[n-1].Slot.Sub(runs[n].Slot); gap != time.Second {
					t.Errorf("%s: between the slots %s and %s lie %s", runs[n].Job, runs[n].Slot, runs[n-1].Slot, gap)
				}
			}
			if len(runs) < 14 {
				t.Errorf("tick%d has %d runs", i, len(runs))
			}
		}
		w.once()
	})
}
