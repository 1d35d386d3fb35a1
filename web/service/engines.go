package service

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

const (
	// ownerlessAfter is how long shards may be without an owner before the pages show it: engines hand shards over at
	// once, and take them within a second after the lease of a dead engine has ended.
	ownerlessAfter = 3 * time.Second
	// clockTolerance is how far the clocks of two nodes may differ. A presence that was delayed on its way makes a clock
	// look slow, too; that does not count.
	clockTolerance = 3 * time.Second
)

// Engines is who turns the shards.
type Engines struct {
	// All are those that are alive, in the order of their ids; Shards is how many leases one has.
	All []engine.EnginePresence
	// Ownerless counts the shards that no engine has.
	Ownerless int
}

// ownerless remembers since when shards were seen to have no owner. It knows what this process has looked at.
type ownerless struct {
	mu    sync.Mutex
	since time.Time
}

// look records how many there are, and returns since when there are any.
func (o *ownerless) look(count int, now time.Time) time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case count == 0:
		o.since = time.Time{}
	case o.since.IsZero():
		o.since = now
	}
	return o.since
}

// Engines lists those that are alive, with their shards.
func (s *Service) Engines(ctx context.Context) (Engines, error) {
	if s.config.Alone != nil {
		alone := s.config.Alone()
		alone.Seen = s.now()
		return Engines{All: []engine.EnginePresence{alone}, Ownerless: engine.Shards - alone.Shards}, nil
	}
	all, err := s.queue.Engines(ctx)
	if err != nil {
		return Engines{}, err
	}
	owners, err := s.queue.ShardOwners(ctx)
	if err != nil {
		return Engines{}, err
	}
	engines := Engines{All: slices.Clone(all)}
	for i := range engines.All {
		engines.All[i].Shards = 0
	}
	for _, owner := range owners {
		if owner == "" {
			engines.Ownerless++
		}
		if i := slices.IndexFunc(engines.All, func(e engine.EnginePresence) bool { return e.ID == owner }); i >= 0 {
			engines.All[i].Shards++
		}
	}
	return engines, nil
}

// lookAtEngines finds shards that no engine turns.
func (s *Service) lookAtEngines(ctx context.Context, view *Overview) error {
	engines, err := s.Engines(ctx)
	if err != nil {
		return err
	}
	since := s.ownerless.look(engines.Ownerless, view.At)
	switch {
	case len(engines.All) == 0:
		view.Concerns = append(view.Concerns, Concern{Kind: ConcernNoEngine, At: view.At})
	case engines.Ownerless > 0 && view.At.Sub(since) >= ownerlessAfter:
		view.Concerns = append(view.Concerns, Concern{Kind: ConcernOwnerless, Count: engines.Ownerless, At: since})
	}
	clocks := Clocks{}
	for i := range engines.All {
		if slow := engines.All[i].Slow(); slow != "" {
			view.Concerns = append(view.Concerns, Concern{Kind: ConcernBehind, Host: engines.All[i].Host, At: view.At.Add(-engines.All[i].Behind), Reason: slow})
		}
		clocks.add(&engines.All[i].Ahead, engines.All[i].Host)
	}
	for i := range view.Executors {
		if e := &view.Executors[i]; !e.Silent {
			clocks.add(&e.Ahead, e.Host)
		}
	}
	if clocks.Apart() > clockTolerance {
		view.Concerns = append(view.Concerns, Concern{Kind: ConcernClocks, Host: clocks.Last, At: view.At, Reason: clocks.words()})
	}
	return nil
}
