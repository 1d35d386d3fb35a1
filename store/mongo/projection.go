package mongo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/sync/errgroup"

	"github.com/tidewheel/tidewheel/engine"
)

// What the journal puts goes to the collections under one rule for each document: it replaces what has a smaller position,
// or none as in databases of an earlier version, it is inserted where nothing is, and what has the same position or a
// larger one stays. A document is of one shard, and its positions are those of that shard's journal. So projecting may be
// done again, late, and by several at once: the newest entry wins, in any order.
//
// A drop follows the same rule. It puts a document that says nothing but that: {_id, dropped_at, position, shard}. It stands in the
// place of what was dropped, so that one write of one document decides, and a late projector cannot bring back an older
// one; with a collection of tombstones it could, between its look there and its insert. Readers leave it out: it has none
// of the fields that queries ask for, and find and one leave out what they meet by _id. A TTL index removes it after
// droppedKept. What an owner replays after that it replays in order, to the drop itself.
const droppedKept = time.Hour

// droppedField is the second of such a document.
const droppedField = "dropped_at"

type droppedDocument struct {
	ID        string        `bson:"_id"`
	DroppedAt bson.DateTime `bson:"dropped_at"`
	Position  int64         `bson:"position"`
	Shard     int           `bson:"shard"`
}

// isDropped reports whether a document stands for one that was dropped.
func isDropped(document bson.Raw) bool {
	second, err := document.IndexErr(1)
	return err == nil && second.Key() == droppedField
}

// notDropped is the condition for queries by ranges of _id that count what they give.
func notDropped() bson.E { return bson.E{Key: droppedField, Value: nil} }

// projected is a collection that the journal is projected to.
type projected struct {
	collection *mongo.Collection
	puts       func(*entryDocument) []bson.Raw
	drops      func(*entryDocument) []string
	holds      bool // its documents may be held back
}

func (s *Store) projected() []projected {
	none := func(*entryDocument) []string { return nil }
	return []projected{
		{s.runs, func(e *entryDocument) []bson.Raw { return e.Runs }, func(e *entryDocument) []string { return e.DropRuns }, true},
		{s.waves, func(e *entryDocument) []bson.Raw { return e.Waves }, none, false},
		{s.tasks, func(e *entryDocument) []bson.Raw { return e.Tasks }, func(e *entryDocument) []string { return e.DropTasks }, false},
		{s.slots, func(e *entryDocument) []bson.Raw { return e.Slots }, none, false},
		{s.deadLetters, func(e *entryDocument) []bson.Raw { return e.Letters }, func(e *entryDocument) []string { return e.DropLetters }, false},
		{s.incidents, func(e *entryDocument) []bson.Raw { return e.Incidents }, func(e *entryDocument) []string { return e.DropIncidents }, false},
	}
}

// merged is what some entries come to: of each document the newest.
type merged struct {
	documents            map[*mongo.Collection]map[string]newest
	handled, handledDAGs []engine.JobHandled
	done                 []doneDocument
	upto                 map[int]uint64 // by shard: the position of the last entry in it
	bytes                int            // of all documents that were added
}

type newest struct {
	position int64
	shard    int
	document bson.Raw
	isNew    bool      // it most likely is not in the collection
	until    time.Time // it is held back: see holdUntil
}

func newMerged() *merged {
	return &merged{documents: map[*mongo.Collection]map[string]newest{}, upto: map[int]uint64{}}
}

// add merges an entry, all its parts.
func (m *merged) add(to []projected, parts []*entryDocument) {
	for _, part := range parts {
		for _, p := range to {
			for _, document := range p.puts(part) {
				id, _ := document.Lookup("_id").StringValueOK()
				one := newest{position: part.Position, shard: part.Shard, document: document, isNew: firstWrite(document)}
				if p.holds && one.isNew {
					one.until = holdUntil(document)
				}
				m.put(p.collection, id, one)
			}
			for _, id := range p.drops(part) {
				raw, err := bson.Marshal(droppedDocument{ID: id, DroppedAt: part.At, Position: part.Position, Shard: part.Shard})
				if err != nil {
					panic(fmt.Sprintf("mongo: a text and two numbers: %v", err))
				}
				m.put(p.collection, id, newest{position: part.Position, shard: part.Shard, document: raw})
			}
		}
		for _, h := range part.Handled {
			m.handled = append(m.handled, engine.JobHandled(h))
		}
		for _, h := range part.HandledDAGs {
			m.handledDAGs = append(m.handledDAGs, engine.JobHandled(h))
		}
		m.done = append(m.done, part.Done...)
		m.upto[part.Shard] = max(m.upto[part.Shard], uint64(part.Position))
	}
}

func (m *merged) put(to *mongo.Collection, id string, one newest) {
	documents := m.documents[to]
	if documents == nil {
		documents = map[string]newest{}
		m.documents[to] = documents
	}
	m.bytes += len(one.document)
	before, there := documents[id]
	if there && before.position >= one.position {
		return
	}
	one.isNew = one.isNew || before.isNew
	documents[id] = one
}

// firstWrite guesses whether a document is not in its collection yet. A wrong guess costs a round trip.
func firstWrite(document bson.Raw) bool {
	for _, field := range []string{"revision", "count"} {
		if number, err := document.LookupErr(field); err == nil {
			return number.AsInt64() == 1
		}
	}
	return true
}

// project writes what entries come to. Definitions and commands are last: until the documents are there they say that
// something is still to be done.
func (s *Store) project(ctx context.Context, m *merged) error {
	ctx = s.paced(ctx)
	group, within := errgroup.WithContext(ctx)
	for collection, documents := range m.documents {
		group.Go(func() error { return s.projectTo(within, collection, documents) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if len(m.handled) > 0 {
		if err := s.jobs.handle(ctx, m.handled); err != nil {
			return fmt.Errorf("handled jobs: %w", err)
		}
	}
	if len(m.handledDAGs) > 0 {
		if err := s.dags.handle(ctx, m.handledDAGs); err != nil {
			return fmt.Errorf("handled DAGs: %w", err)
		}
	}
	return s.deleteDone(ctx, m.done)
}

func (s *Store) projectTo(ctx context.Context, to *mongo.Collection, documents map[string]newest) error {
	changes := make([]change, 0, len(documents))
	positions := make([]int64, 0, len(documents))
	for id, one := range documents {
		first := stepReplace
		if one.isNew {
			first = stepInsert
		}
		changes = append(changes, change{id: id, document: one.document, condition: isOlder(one.position), first: first})
		positions = append(positions, one.position)
	}
	_, err := s.settleBy(ctx, to, changes, projection("position"), func(n int, stored bson.Raw) (step, error) {
		if stored == nil {
			return stepInsert, nil
		}
		position, _ := stored.Lookup("position").AsInt64OK()
		if position >= positions[n] {
			return stepDone, nil
		}
		return stepReplace, nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", to.Name(), err)
	}
	return nil
}

// deleteDone deletes commands that were acted upon, not those that were left under the same ids later.
func (s *Store) deleteDone(ctx context.Context, done []doneDocument) error {
	for chunk := range slices.Chunk(done, s.config.BulkSize) {
		models := make([]mongo.WriteModel, len(chunk))
		for i, one := range chunk {
			models[i] = mongo.NewDeleteOneModel().SetFilter(append(byID(one.ID), bson.E{Key: "at", Value: one.At}))
		}
		if err := s.bulk(ctx, s.commands, models); err != nil {
			return fmt.Errorf("commands: %w", err)
		}
	}
	return nil
}

// bulk does idempotent writes until they succeed, a bounded number of times.
func (s *Store) bulk(ctx context.Context, to *mongo.Collection, models []mongo.WriteModel) error {
	return s.repeat(ctx, func() error {
		limit, cancel := s.command(ctx)
		defer cancel()
		_, err := to.BulkWrite(limit, models, options.BulkWrite().SetOrdered(false))
		return err
	})
}
