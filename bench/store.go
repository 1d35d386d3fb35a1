package main

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/sqlite"
)

// store is what scenarios write straight into a server's database.
type store interface {
	CreateJob(context.Context, engine.Job) error
	Jobs(context.Context, engine.JobFilter) ([]engine.Job, string, error)
	Runs(context.Context, engine.RunFilter) ([]engine.Run, string, error)
	Commit(context.Context, *engine.Batch) ([]engine.Conflict, error)
	Close(context.Context) error
}

// shardStore is a store that commits whole decisions of shards.
type shardStore interface {
	Take(ctx context.Context, shard int, owner string) (engine.Term, error)
	CommitShards(context.Context, []engine.ShardCommit) []error
}

// openStore opens the database that a server on a data folder has, or will have: MongoDB if a URI is given, else SQLite.
// The caller closes it before the server starts.
func (b *bench) openStore(ctx context.Context, data string) (store, error) {
	quiet := slog.New(slog.DiscardHandler)
	if b.mongodb != "" {
		return mongo.Open(ctx, b.mongodb, mongo.Config{Logger: quiet, PrimaryOnly: true})
	}
	return sqlite.Open(ctx, filepath.Join(data, "store", "tidewheel.db"), sqlite.Config{Logger: quiet})
}

// storeFlags are what a server is given to work on that database.
func (b *bench) storeFlags() []string {
	if b.mongodb != "" {
		return []string{"--mongodb-uri", b.mongodb}
	}
	return nil
}

// storeName is for what is printed.
func (b *bench) storeName() string {
	if b.mongodb != "" {
		return "MongoDB"
	}
	return "SQLite"
}
