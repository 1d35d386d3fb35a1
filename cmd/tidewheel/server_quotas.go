package main

import (
	"context"
	"maps"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// quotasEvery is how often an engine reads the quotas of namespaces, and counts the engines that share them.
const quotasEvery = 3 * time.Second

// runningBounds limit how many runs of each namespace an engine may have active.
type runningBounds struct {
	server     *Server
	runner     *shard.Runner
	namespaces *access.Namespaces
	known      map[string]int // the bounds that the engine got last
}

func newRunningBounds(s *Server, runner *shard.Runner) *runningBounds {
	return &runningBounds{server: s, runner: runner, namespaces: access.NewNamespaces(s.store, time.Now)}
}

// follow sends changes to the engine until ctx ends.
func (b *runningBounds) follow(ctx context.Context) {
	for pause(ctx, quotasEvery) == nil {
		b.refresh(ctx)
	}
}

// refresh sends the bounds to the engine if they have changed. A bound that cannot be read stays as it is.
func (b *runningBounds) refresh(ctx context.Context) {
	limit, cancel := context.WithTimeout(ctx, quotasEvery)
	defer cancel()
	bounds, err := b.read(limit)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		b.server.log.Warn("the quotas of namespaces cannot be read: they stay as they were", "error", err)
	case !maps.Equal(bounds, b.known):
		b.runner.Bound(ctx, bounds)
		b.known = bounds
	}
}

// read returns this engine's part of what the quotas of namespaces say. Each engine at work has an equal part, rounded up, so that
// together they keep to the quota but for what is rounded.
func (b *runningBounds) read(ctx context.Context) (map[string]int, error) {
	all, err := b.namespaces.List(ctx)
	if err != nil {
		return nil, err
	}
	bounds := map[string]int{}
	for i := range all {
		if running := all[i].Quota.Running; running > 0 {
			bounds[all[i].Name] = int(running)
		}
	}
	if len(bounds) == 0 || !b.server.config.sharesShards() {
		return bounds, nil
	}
	engines, err := b.server.queue.Engines(ctx)
	if err != nil {
		return nil, err
	}
	return partOf(bounds, engines), nil
}

// partOf divides bounds by how many engines are at work.
func partOf(bounds map[string]int, engines []engine.EnginePresence) map[string]int {
	working := 0
	for i := range engines {
		if !engines[i].Leaving {
			working++
		}
	}
	part := map[string]int{}
	for namespace, bound := range bounds {
		part[namespace] = (bound + max(working, 1) - 1) / max(working, 1)
	}
	return part
}
