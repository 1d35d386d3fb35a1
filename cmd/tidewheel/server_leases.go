package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/lease"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// leaseTTL is how long the shards of an engine that died stay without one; a second more, and others have them.
const leaseTTL = 5 * time.Second

// sharesShards reports whether other engines may work on the same store. A SQLite database is never shared: its folder is locked. An
// embedded NATS without an address serves this process alone.
func (c *ServerConfig) sharesShards() bool {
	return c.MongoURI != "" && (c.NATSURL != "" || c.NATSListen != "")
}

// firstShards are those that an engine begins with: all, unless leases have to say.
func (s *Server) firstShards() []int {
	if s.config.sharesShards() {
		return nil
	}
	all := make([]int, engine.Shards)
	for i := range all {
		all[i] = i
	}
	return all
}

// engineAlone returns a function that describes the engine of this process. It returns nil if engines share the shards
// and each announces itself. If they do not, one process runs the engine and serves the pages.
func (s *Server) engineAlone() func() engine.EnginePresence {
	if s.config.sharesShards() || !s.config.has(roleEngine) {
		return nil
	}
	host, id := executorID()
	presence := engine.EnginePresence{ID: id, Host: host, PID: os.Getpid(), Version: version, Since: s.started.UTC()}
	return func() engine.EnginePresence {
		now := presence
		if s.engine != nil {
			now.Shards = s.engine.shards()
			stats := s.engine.stats()
			now.Waits(stats.Unwritten, stats.Since, time.Now())
			now.Held, now.Namespaces = s.engine.held(), s.engine.counts()
		}
		return now
	}
}

func (s *Server) newHolder(runner *shard.Runner) (*shard.Holder, error) {
	host, id := executorID()
	presence := engine.EnginePresence{ID: id, Host: host, PID: os.Getpid(), Version: version, Since: time.Now().UTC()}
	return shard.NewHolder(lease.DefaultConfig(leaseTTL), presence, s.queue, runner, s.log)
}

// runWithLeases runs an engine on the shards that its leases cover, until ctx ends or one of the two fails. The engine
// outlives its leases, because they are handed over only once it has stopped its work.
func runWithLeases(ctx context.Context, runner *shard.Runner, holder *shard.Holder) error {
	holding, leave := context.WithCancel(ctx)
	defer leave()
	running, end := context.WithCancelCause(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	var runErr error
	work.Go(func() {
		runErr = runner.Run(running)
		leave()
	})
	holdErr := holder.Run(holding)
	handedOver := errors.New("the leases have been handed over")
	end(handedOver)
	work.Wait()
	if errors.Is(runErr, handedOver) {
		runErr = nil
	}
	return errors.Join(holdErr, runErr)
}
