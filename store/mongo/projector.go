package mongo

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// projector brings what this store commits to the collections: a round at a time, each of all that has been committed
// since the previous one. It never drops anything: what it has not projected when it ends is in the journal, for the next
// owner. A store that has lost a shard projects what it had committed before; that does no harm.
type projector struct {
	store   *Store
	begin   sync.Once
	end     sync.Once
	begun   atomic.Bool
	wanted  chan struct{} // something waits
	urgent  chan struct{} // and a reader waits for it
	closing chan struct{}
	ended   chan struct{}
	context context.Context // ends the writes
	cancel  context.CancelFunc

	// Entries of this store, so far: committed, projected but for what is held back, projected as a whole, and the last one that
	// handled a definition or did a command.
	committed, projected, complete, acted atomic.Uint64

	mutex    sync.Mutex
	waiting  *merged
	underway int           // bytes of the round that is under way
	held     *time.Timer   // when something that is held back is to be projected
	changed  chan struct{} // closed at the end of each round
	failure  error         // of the last try of a round, nil after one that succeeded
	reached  map[int]reach // by shard
}

// reach is how far the journal of a shard has been projected.
type reach struct {
	applied  uint64
	recorded uint64 // in shards; what is before that has been trimmed
	fresh    bool   // taken since: there may be entries of earlier owners
}

var errClosed = errors.New("the store is closed")

func newProjector(s *Store) *projector {
	p := &projector{
		store: s, wanted: make(chan struct{}, 1), urgent: make(chan struct{}, 1), closing: make(chan struct{}), ended: make(chan struct{}),
		waiting: newMerged(), changed: make(chan struct{}), reached: map[int]reach{}, held: time.NewTimer(heldMost),
	}
	p.context, p.cancel = context.WithCancel(context.Background())
	return p
}

// took records that a shard was taken and is projected up to a position, which is recorded up to another, and starts the
// projector.
func (p *projector) took(shard int, recorded, applied uint64) {
	p.mutex.Lock()
	known := p.reached[shard]
	p.reached[shard] = reach{applied: max(known.applied, applied), recorded: max(known.recorded, recorded), fresh: true}
	p.mutex.Unlock()
	p.begin.Do(func() {
		p.begun.Store(true)
		go p.run()
	})
}

// add gives it an entry that was committed, all its parts.
func (p *projector) add(parts []*entryDocument) {
	p.mutex.Lock()
	p.waiting.add(p.store.projected(), parts)
	number := p.committed.Add(1)
	for _, part := range parts {
		if len(part.Handled)+len(part.HandledDAGs)+len(part.Done) > 0 {
			p.acted.Store(number)
		}
	}
	p.mutex.Unlock()
	notify(p.wanted)
}

func notify(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

// flush returns when all that this store has committed so far is in the collections.
func (p *projector) flush(ctx context.Context) error {
	upto := p.committed.Load()
	return p.await(ctx, func() bool { return p.complete.Load() >= upto })
}

// flushActed returns when definitions say how far this store has handled them, and the commands that it did are gone.
func (p *projector) flushActed(ctx context.Context) error {
	upto := p.acted.Load()
	return p.await(ctx, func() bool { return p.projected.Load() >= upto })
}

// CatchUp returns when all that this store has committed so far is in the collections.
func (s *Store) CatchUp(ctx context.Context) error {
	return s.failed("catch up", s.projector.flush(ctx))
}

// room returns when less than Config.Backlog bytes wait.
func (p *projector) room(ctx context.Context) error {
	return p.await(ctx, func() bool {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		return p.waiting.bytes+p.underway < p.store.config.Backlog
	})
}

// await returns when something holds that rounds bring about, no later than a command to the server may take.
func (p *projector) await(ctx context.Context, holds func() bool) error {
	if holds() {
		return nil
	}
	ctx, cancel := p.store.command(ctx)
	defer cancel()
	for {
		p.mutex.Lock()
		changed, failure := p.changed, p.failure
		p.mutex.Unlock()
		if holds() {
			return nil
		}
		notify(p.urgent)
		select {
		case <-changed:
		case <-p.ended:
			if holds() {
				return nil
			}
			return errors.Join(errClosed, failure)
		case <-ctx.Done():
			p.mutex.Lock()
			defer p.mutex.Unlock()
			return errors.Join(context.Cause(ctx), p.failure)
		}
	}
}

// close projects what waits, for as long as ctx and the server let it, and returns when the projector has ended.
func (p *projector) close(ctx context.Context) {
	p.end.Do(func() { close(p.closing) })
	if !p.begun.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, closeTime)
	defer cancel()
	select {
	case <-p.ended:
	case <-ctx.Done():
		p.cancel()
		<-p.ended
	}
}

// closeTime is how long a store that is closed tries to project what waits.
const closeTime = 5 * time.Second

func (p *projector) run() {
	defer close(p.ended)
	defer p.cancel()
	tidy := time.NewTicker(p.store.config.TrimInterval)
	defer tidy.Stop()
	for {
		select {
		case <-p.wanted:
			p.round(p.gather())
		case <-p.urgent:
			p.round(true)
		case <-p.held.C:
			p.round(false)
		case <-tidy.C:
			p.tidy()
		case <-p.closing:
			p.round(true)
			p.tidy()
			return
		}
	}
}

// How long more may come before a round, unless a reader waits: gatherEach for each document that waits, between
// Config.ProjectInterval and gatherMost. So a run that begins and ends while thousands do is still written once or twice.
const (
	gatherEach = 250 * time.Microsecond
	gatherMost = 500 * time.Millisecond
)

// gather lets more come before a round, and reports whether a reader waits for all of it.
func (p *projector) gather() (urgent bool) {
	began := time.Now()
	timer := time.NewTimer(p.store.config.ProjectInterval)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-p.urgent:
			return true
		case <-p.closing:
			return true
		}
		p.mutex.Lock()
		left := min(time.Duration(p.waiting.ready())*gatherEach, gatherMost) - time.Since(began)
		p.mutex.Unlock()
		if left <= 0 {
			return false
		}
		timer.Reset(left)
	}
}

// round projects what waits, all of it or but for what is held back, and tries until it succeeds or the store is closed.
func (p *projector) round(all bool) {
	p.mutex.Lock()
	round, upto := p.waiting, p.committed.Load()
	p.waiting = newMerged()
	if !all {
		p.waiting = round.holdBack(time.Now())
	}
	complete, due := len(p.waiting.upto) == 0, p.waiting.due()
	p.underway = round.bytes
	p.mutex.Unlock()
	if upto == p.complete.Load() {
		return
	}
	for attempt := 1; ; attempt++ {
		err := p.store.project(p.context, round)
		p.mutex.Lock()
		p.failure = err
		p.mutex.Unlock()
		if err == nil {
			break
		}
		if attempt == 1 && p.context.Err() == nil {
			p.store.config.Logger.Warn("what was committed is not in its collections yet: it is tried again until it is", "error", err)
		}
		if wait(p.context, backoff(attempt)) != nil {
			return
		}
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for shard, position := range round.upto {
		known := p.reached[shard]
		known.applied = max(known.applied, position)
		p.reached[shard] = known
	}
	p.underway = 0
	p.projected.Store(upto)
	if complete {
		p.complete.Store(upto)
	} else {
		p.held.Reset(time.Until(due))
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

// tidy records how far the shards are projected, and then deletes the entries before that from the journal. What fails is
// done with the next one.
func (p *projector) tidy() {
	p.mutex.Lock()
	behind := maps.Clone(p.reached)
	p.mutex.Unlock()
	maps.DeleteFunc(behind, func(_ int, r reach) bool { return r.applied == r.recorded && !r.fresh })
	if len(behind) == 0 {
		return
	}
	err := p.store.record(p.context, behind)
	if err == nil {
		err = p.store.trim(p.context, behind)
	}
	if err != nil {
		p.store.config.Logger.Debug("the journal is not trimmed", "error", err)
		return
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for shard, tidied := range behind {
		known := p.reached[shard]
		known.recorded, known.fresh = tidied.applied, known.fresh && !tidied.fresh
		p.reached[shard] = known
	}
}

// record writes how far shards are projected. It never goes back.
func (s *Store) record(ctx context.Context, reached map[int]reach) error {
	var changes []change
	var applied []int64
	for shard, r := range reached {
		id, position := shardID(shard), int64(r.applied)
		document, err := bson.Marshal(shardDocument{ID: id, Applied: position})
		if err != nil {
			return err
		}
		less := bson.D{{Key: "applied", Value: bson.D{{Key: "$lt", Value: position}}}}
		first := stepReplace
		if r.recorded == 0 {
			first = stepInsert
		}
		changes = append(changes, change{id: id, document: document, condition: less, first: first})
		applied = append(applied, position)
	}
	_, err := s.settle(s.paced(ctx), s.shards, changes, func(n int, stored bson.Raw) (step, error) {
		if stored == nil {
			return stepInsert, nil
		}
		if found, _ := stored.Lookup("applied").AsInt64OK(); found >= applied[n] {
			return stepDone, nil
		}
		return stepReplace, nil
	})
	return err
}

// trim deletes the commits that are behind what is recorded, and, once after a shard was taken, take-overs that no engine can
// meet any more. The newest entry is never behind.
func (s *Store) trim(ctx context.Context, reached map[int]reach) error {
	var models []mongo.WriteModel
	for shard, r := range reached {
		from := r.recorded
		if r.fresh {
			from = 0
			old := bson.E{Key: "at", Value: bson.D{{Key: "$lt", Value: date(time.Now().Add(-takeOversKept))}}}
			models = append(models, mongo.NewDeleteManyModel().SetFilter(append(entriesOf(shard, from, r.applied), old)))
		}
		commits := bson.E{Key: "kind", Value: kindCommit}
		models = append(models, mongo.NewDeleteManyModel().SetFilter(append(entriesOf(shard, from, r.applied), commits)))
	}
	return s.bulk(ctx, s.journal, models)
}
