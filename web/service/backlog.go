package service

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

const (
	// backlogKnown is for how long the backlogs are kept before they are read again.
	backlogKnown = time.Second
	// backlogRetry is when it makes sense to ask again for what a backlog has refused.
	backlogRetry = 30 * time.Second
)

// Depths returns what waits for executors in each tier and class: in the queue, and held back by engines.
func (s *Service) Depths(ctx context.Context) ([]engine.QueueDepth, error) {
	depths, err := s.queue.Depths(ctx)
	if err != nil {
		return nil, err
	}
	engines, err := s.presentEngines(ctx)
	if err != nil {
		return nil, err
	}
	depths = slices.Clone(depths)
	for i := range engines {
		for _, held := range engines[i].Held {
			at := slices.IndexFunc(depths, func(d engine.QueueDepth) bool { return d.Tier == held.Tier && d.Class == held.Class })
			if at >= 0 {
				depths[at].Waiting += uint64(held.Runs)
			}
		}
	}
	return depths, nil
}

// presentEngines lists the engines with what they report.
func (s *Service) presentEngines(ctx context.Context) ([]engine.EnginePresence, error) {
	if s.config.Alone != nil {
		return []engine.EnginePresence{s.config.Alone()}, nil
	}
	return s.queue.Engines(ctx)
}

// backlogs remembers what waits in each tier.
type backlogs struct {
	mu      sync.Mutex
	at      time.Time
	waiting map[spec.Tier]uint64
}

// hasRoom refuses manual runs of a tier in which more waits than may. Slots are not refused: they go by their schedule.
func (s *Service) hasRoom(ctx context.Context, tier spec.Tier) error {
	if s.config.MaxBacklog == 0 {
		return nil
	}
	b := &s.backlogs
	b.mu.Lock()
	defer b.mu.Unlock()
	if age := s.now().Sub(b.at); b.waiting == nil || age < 0 || age > backlogKnown {
		depths, err := s.Depths(ctx)
		if err != nil {
			return nil //nolint:nilerr // what is asked for is kept by the store, which is there or says so itself
		}
		b.at, b.waiting = s.now(), map[spec.Tier]uint64{}
		for i := range depths {
			b.waiting[depths[i].Tier] += depths[i].Waiting
		}
	}
	if waiting := b.waiting[tier]; waiting >= uint64(s.config.MaxBacklog) {
		return &Error{Kind: KindBusy, Code: "backlog_full", RetryAfter: backlogRetry, Detail: fmt.Sprintf(
			"%d runs of tier %s wait for executors, and with %d or more manual runs are refused: try again later, or ask an administrator to add executors of this tier "+
				"or to raise --max-backlog", waiting, tier, s.config.MaxBacklog)}
	}
	return nil
}

// hasRoomForDAG does the same for the tiers of a DAG's tasks.
func (s *Service) hasRoomForDAG(ctx context.Context, dag *spec.DAG) error {
	for i := range dag.Tasks {
		if err := s.hasRoom(ctx, dag.TaskJob(i).Tier); err != nil {
			return err
		}
	}
	return nil
}
