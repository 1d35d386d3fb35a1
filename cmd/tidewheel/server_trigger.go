package main

import (
	"context"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/trigger"
)

// triggeringStore writes down the successes that definitions wait for, before the commits that they are part of.
type triggeringStore struct {
	shard.Store
	outbox *trigger.Outbox
}

// Commit passes commits on.
func (s triggeringStore) Commit(ctx context.Context, commits []engine.ShardCommit) []error {
	return s.outbox.Commit(ctx, s.Store, commits)
}
