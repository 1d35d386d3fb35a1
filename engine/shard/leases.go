package shard

import (
	"context"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/lease"
)

// Leases is the table of package lease over a network. Its writes give lease.ErrRefused where the entry had another
// revision; after any other error the write may or may not have been done.
type Leases interface {
	// WatchLeases passes to handle all that the table holds, then lease.Synced, and from then on each change, in order, until ctx
	// ends. Where changes may have been missed it says lease.Lost and begins again. It calls handle from one goroutine.
	WatchLeases(ctx context.Context, handle func(lease.Input)) error
	// AcquireLease makes this engine the owner of a shard for ttl, if it is free or its entry has this revision.
	AcquireLease(ctx context.Context, shard int, engineID string, revision uint64, ttl time.Duration) (uint64, error)
	// RenewLease extends an entry of this engine with this revision by ttl.
	RenewLease(ctx context.Context, shard int, engineID string, revision uint64, ttl time.Duration) (uint64, error)
	// ReleaseLease removes the entry with this revision; that of the marker is given.
	ReleaseLease(ctx context.Context, shard int, revision uint64) (uint64, error)
	// AnnounceEngine means that an engine is alive for the next ttl; with ttl 0 that it is not any more.
	AnnounceEngine(ctx context.Context, presence engine.EnginePresence, ttl time.Duration) error
}
