package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/tidewheel/tidewheel/engine"
)

// Write commits what a test wants a store to hold: it takes the shards that the documents belong to, so that their owners
// are fenced, and returns once readers see it.
func Write(ctx context.Context, store Commits, decision engine.Batch) error {
	return (&writer{store: store}).commit(ctx, decision)
}

// writer commits as the owner of all shards, for promises that are not about owners. It may be used by many goroutines.
type writer struct {
	store  Commits
	shards [engine.Shards]ownedShard
}

// ownedShard is a shard as its owner knows it.
type ownedShard struct {
	mu    sync.Mutex
	taken bool
	term  engine.Term // with the position of the last commit
}

// commit writes the documents of each shard by a commit of its own, and waits until readers see them.
func (w *writer) commit(ctx context.Context, decision engine.Batch) error {
	byShard := split(&decision)
	for _, shard := range slices.Sorted(maps.Keys(byShard)) {
		if err := w.shards[shard].commit(ctx, w.store, engine.ShardCommit{Shard: shard, Batch: byShard[shard]}); err != nil {
			return fmt.Errorf("commit to shard %d: %w", shard, err)
		}
	}
	if store, ok := w.store.(Behind); ok {
		return store.CatchUp(ctx)
	}
	return nil
}

// commit takes the shard first if it is another owner's.
func (s *ownedShard) commit(ctx context.Context, store Commits, commit engine.ShardCommit) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for fenced := true; fenced; fenced = errors.Is(err, engine.ErrFenced) {
		if !s.taken {
			if s.term, err = store.Take(ctx, commit.Shard, "test"); err != nil {
				return err
			}
		}
		commit.Term, commit.Position = s.term.Number, s.term.Position+1
		if err = store.Commit(ctx, []engine.ShardCommit{commit})[0]; err == nil {
			s.taken, s.term.Position = true, commit.Position
			return nil
		}
		s.taken = false
	}
	return err
}

// split returns the documents of each shard. Commands may be handled by any shard's commit.
func split(d *engine.Batch) map[int]*engine.Batch {
	byShard := map[int]*engine.Batch{}
	of := func(shard int) *engine.Batch {
		if byShard[shard] == nil {
			byShard[shard] = &engine.Batch{}
		}
		return byShard[shard]
	}
	byUID := func(uid string) *engine.Batch { return of(engine.ShardOf(uid)) }
	for i := range d.Runs {
		part := of(d.Runs[i].Shard)
		part.Runs = append(part.Runs, d.Runs[i])
	}
	for i := range d.Waves {
		part := of(d.Waves[i].Shard)
		part.Waves = append(part.Waves, d.Waves[i])
	}
	for _, task := range d.Tasks {
		part := of(task.Shard)
		part.Tasks = append(part.Tasks, task)
	}
	for _, slots := range d.Slots {
		part := byUID(slots.JobUID)
		part.Slots = append(part.Slots, slots)
	}
	for _, letter := range d.DeadLetters {
		part := byUID(letter.JobUID)
		part.DeadLetters = append(part.DeadLetters, letter)
	}
	for _, incident := range d.Incidents {
		part := of(incident.Shard)
		part.Incidents = append(part.Incidents, incident)
	}
	for _, id := range d.DropIncidents {
		part := byUID(engine.RunJob(id))
		part.DropIncidents = append(part.DropIncidents, id)
	}
	for _, id := range d.DropRuns {
		part := byUID(engine.RunJob(id))
		part.DropRuns = append(part.DropRuns, id)
	}
	for _, id := range d.DropTasks {
		part := byUID(id)
		if dag := engine.RunJob(id); dag != "" {
			part = byUID(dag)
		}
		part.DropTasks = append(part.DropTasks, id)
	}
	for _, id := range d.DropLetters {
		part := byUID(engine.RunJob(id))
		part.DropLetters = append(part.DropLetters, id)
	}
	for _, handled := range d.Handled {
		part := byUID(handled.UID)
		part.Handled = append(part.Handled, handled)
	}
	for _, handled := range d.HandledDAGs {
		part := byUID(handled.UID)
		part.HandledDAGs = append(part.HandledDAGs, handled)
	}
	for _, done := range d.Done {
		part := byUID(engine.RunJob(done.ID))
		part.Done = append(part.Done, done)
	}
	return byShard
}
