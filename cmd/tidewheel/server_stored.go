package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	// storedEvery is how often an engine writes what runs have stored, and reads how much more they may.
	storedEvery = 3 * time.Second
	// binariesEvery is how often the bytes of the binaries of a namespace with a bound are counted for that.
	binariesEvery = 30 * time.Second
)

// countedStore is where the sums are kept, and what else counts.
type countedStore interface {
	engine.Records
	service.BinaryLister
}

// storedBytes counts what runs store in S3, by namespace, and knows how much more a namespace with a bound may store. What it
// has counted is written every few seconds. A crash loses the rest until the janitor counts again.
type storedBytes struct {
	store      countedStore
	sums       *access.RunBytes
	namespaces *access.Namespaces
	log        *slog.Logger

	mu        sync.Mutex
	unwritten map[string]int64 // bytes by namespace, negative where more was removed
	rooms     map[string]int64 // bytes that namespaces with a bound may still store; others are not in it

	binaries map[string]binaryBytes // of namespaces with a bound; used by one goroutine
}

type binaryBytes struct {
	bytes int64
	at    time.Time
}

func newStoredBytes(store countedStore, log *slog.Logger) *storedBytes {
	return &storedBytes{
		store: store, sums: access.NewRunBytes(store), namespaces: access.NewNamespaces(store, time.Now), log: log,
		unwritten: map[string]int64{}, binaries: map[string]binaryBytes{},
	}
}

// ended counts what a run has stored, once its end is durable. The output of a run that is retried manually counts twice
// until the janitor counts again.
func (b *storedBytes) ended(run *engine.Run) {
	var bytes int64
	for i := range run.Artifacts {
		bytes += run.Artifacts[i].Size
	}
	for i := range run.Attempts {
		if output := run.Attempts[i].Output; output != nil && output.Chunks > 0 {
			bytes += output.Size
		}
	}
	b.add(run.Namespace, bytes)
}

// add counts bytes that were stored, or, below 0, removed.
func (b *storedBytes) add(namespace string, bytes int64) {
	if bytes == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unwritten[namespace] += bytes
}

// room returns how many bytes a namespace may still store, nil for any number.
func (b *storedBytes) room(namespace string) *int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	room, bounded := b.rooms[namespace]
	if !bounded {
		return nil
	}
	room = max(room-b.unwritten[namespace], 0)
	return &room
}

// run keeps the sums until ctx ends, and then writes the rest.
func (b *storedBytes) run(ctx context.Context) error {
	for pause(ctx, storedEvery) == nil {
		b.keep(ctx)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), storedEvery)
	defer cancel()
	if err := b.write(last); err != nil {
		b.log.Warn("what runs have stored could not be counted at the end: the next count of the janitor mends it", "error", err)
	}
	return nil
}

// keep writes what was counted and reads what may still be stored. What fails is retried the next time.
func (b *storedBytes) keep(ctx context.Context) {
	limit, cancel := context.WithTimeout(ctx, storedEvery)
	defer cancel()
	err := errors.Join(b.write(limit), b.refresh(limit))
	if err != nil && ctx.Err() == nil {
		b.log.Warn("what runs have stored cannot be counted now", "error", err)
	}
}

// write adds what was counted to the sums in the store. What an error leaves open counts again.
func (b *storedBytes) write(ctx context.Context) error {
	b.mu.Lock()
	counted := maps.Clone(b.unwritten)
	b.mu.Unlock()
	for namespace, bytes := range counted {
		if err := b.sums.Add(ctx, namespace, bytes); err != nil {
			return err
		}
		b.mu.Lock()
		if b.unwritten[namespace] -= bytes; b.unwritten[namespace] == 0 {
			delete(b.unwritten, namespace)
		}
		if _, bounded := b.rooms[namespace]; bounded {
			b.rooms[namespace] -= bytes
		}
		b.mu.Unlock()
	}
	return nil
}

// refresh reads how much the namespaces that have a bound may still store.
func (b *storedBytes) refresh(ctx context.Context) error {
	all, err := b.namespaces.List(ctx)
	if err != nil {
		return err
	}
	var sums map[string]int64
	rooms := map[string]int64{}
	for i := range all {
		namespace, bound := all[i].Name, all[i].Quota.StoredBytes
		if bound == 0 {
			delete(b.binaries, namespace)
			continue
		}
		if sums == nil {
			if sums, err = b.sums.All(ctx); err != nil {
				return err
			}
		}
		binaries, known := b.binaries[namespace]
		if !known || time.Since(binaries.at) > binariesEvery {
			binaries.at = time.Now()
			if binaries.bytes, err = service.BinaryBytes(ctx, b.store, namespace); err != nil {
				return err
			}
			b.binaries[namespace] = binaries
		}
		rooms[namespace] = bound - binaries.bytes - sums[namespace]
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rooms = rooms
	return nil
}
