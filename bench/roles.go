package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/queue/jetstream"
	"github.com/tidewheel/tidewheel/signing"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/sqlite"
)

// engineStore is what an engine works on, and what a scenario that runs one asks of it.
type engineStore interface {
	store
	shard.Store
	PutCommand(context.Context, engine.Command) error
}

// roles are an engine and an executor in this process, on a store and the embedded queue, everything durable, and
// nothing in the place of programs.
type roles struct {
	slots    int
	sent     func(mongo.Command) // each command to MongoDB; nil for none
	observer shard.Observer      // nil for none
	// around returns the executor's queue; nil for the queue itself.
	around func(*jetstream.Queue) executor.Queue
	// register fills the store before the engine begins.
	register func(context.Context, engineStore) error
	// measure is called once the engine is ready. What comes over failed ended a role.
	measure func(ctx context.Context, store engineStore, failed <-chan error) error
}

func (b *bench) inProcess(ctx context.Context, r roles) (err error) {
	if os.Getenv("GOGC") == "" { // as a server does
		debug.SetGCPercent(200)
	}
	dir, err := b.folder()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	store, end, err := b.openEngineStore(ctx, dir, log, r.sent)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end(context.WithoutCancel(ctx))) }()
	nats, err := jetstream.StartServer(ctx, jetstream.ServerConfig{StoreDir: filepath.Join(dir, "nats"), Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, nats.Shutdown()) }()
	own, err := signing.NewKeys()
	if err != nil {
		return err
	}
	var keys signing.Ring
	keys.Use(own)
	queue, err := jetstream.Connect(ctx, jetstream.Config{Server: nats, Keys: &keys, Logger: log})
	if err != nil {
		return err
	}
	defer queue.Close()
	if err := r.register(ctx, store); err != nil {
		return err
	}

	shards := make([]int, engine.Shards)
	for i := range shards {
		shards[i] = i
	}
	var pulled executor.Queue = queue
	if r.around != nil {
		pulled = r.around(queue)
	}
	runner := shard.NewRunner(shard.DefaultConfig(), store, queue, shards, log, r.observer)
	worker := executor.New(executor.Config{
		ID: "bench", Tiers: []spec.Tier{spec.TierLight, spec.TierMedium, spec.TierHeavy}, Slots: r.slots,
		CacheDir: filepath.Join(dir, "cache"), Runner: nothing{},
	}, pulled, noBlobs{}, log, nil)
	parts, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	failed := make(chan error, 2)
	for _, part := range []func(context.Context) error{runner.Run, worker.Run} {
		group.Go(func() {
			if err := part(parts); err != nil && parts.Err() == nil {
				failed <- err
			}
		})
	}
	select {
	case <-runner.Ready():
	case err := <-failed:
		return err
	}
	return r.measure(ctx, store, failed)
}

// openEngineStore opens an empty store: a database of its own if a URI is given, which end drops, else SQLite in a folder.
func (b *bench) openEngineStore(
	ctx context.Context, dir string, log *slog.Logger, sent func(mongo.Command),
) (opened engineStore, end func(context.Context) error, err error) {
	if b.mongodb == "" {
		opened, err := sqlite.Open(ctx, filepath.Join(dir, "tidewheel.db"), sqlite.Config{Logger: log})
		if err != nil {
			return nil, nil, err
		}
		return opened, opened.Close, nil
	}
	own, err := mongo.Open(ctx, b.mongodb, mongo.Config{Logger: log, Monitor: sent, Database: "bench_" + rand.Text()})
	if err != nil {
		return nil, nil, err
	}
	return own, func(ctx context.Context) error { return errors.Join(own.Drop(ctx), own.Close(ctx)) }, nil
}
