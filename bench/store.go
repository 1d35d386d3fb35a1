package main

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/sqlite"
)

// store is what scenarios write straight into a server's database.
type store interface {
	Jobs() engine.Definitions[spec.Job]
	Runs(context.Context, engine.RunFilter) ([]engine.Run, string, error)
	Take(ctx context.Context, shard int, owner string) (engine.Term, error)
	Commit(context.Context, []engine.ShardCommit) []error
	Close(context.Context) error
}

// shardOwner commits as the owner of all shards.
type shardOwner struct {
	store store
	terms [engine.Shards]engine.Term // with the positions of the last commits
}

func takeShards(ctx context.Context, store store) (*shardOwner, error) {
	o := &shardOwner{store: store}
	for shard := range o.terms {
		var err error
		if o.terms[shard], err = store.Take(ctx, shard, "bench"); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// commit writes runs and scheduled tasks in one call, with a commit for each shard.
func (o *shardOwner) commit(ctx context.Context, runs []engine.Run, tasks []engine.ScheduledTask) error {
	var decisions [engine.Shards]engine.Batch
	for _, run := range runs {
		decisions[run.Shard].Runs = append(decisions[run.Shard].Runs, run)
	}
	for _, task := range tasks {
		decisions[task.Shard].Tasks = append(decisions[task.Shard].Tasks, task)
	}
	var commits []engine.ShardCommit
	for shard := range decisions {
		if decision := &decisions[shard]; !decision.Empty() {
			o.terms[shard].Position++
			commits = append(commits, engine.ShardCommit{
				Shard: shard, Term: o.terms[shard].Number, Position: o.terms[shard].Position, Batch: decision,
			})
		}
	}
	return errors.Join(o.store.Commit(ctx, commits)...)
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
