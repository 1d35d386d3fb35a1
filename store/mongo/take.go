package mongo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

// Take makes the caller the owner of a shard: every later commit of an earlier owner gives engine.ErrFenced. All commits
// before it are in the collections when it returns. It continues, while others take the same shard, until ctx ends.
func (s *Store) Take(ctx context.Context, shard int, owner string) (engine.Term, error) {
	operation := fmt.Sprintf("take shard %d", shard)
	nonce := rand.Text()
	for attempt := 1; ; attempt++ {
		begun, taken, err := s.take(ctx, shard, owner, nonce)
		switch {
		case err != nil:
			return engine.Term{}, s.failed(operation, err)
		case taken:
			return begun, nil
		}
		if err := wait(ctx, backoff(min(attempt, 4))); err != nil {
			return engine.Term{}, s.failed(operation, err)
		}
	}
}

// take tries once to take a shard, and reports whether it did: not if another entry came to its place first.
func (s *Store) take(ctx context.Context, shard int, owner, nonce string) (begun engine.Term, taken bool, err error) {
	tail, err := s.tail(ctx, shard)
	if err != nil {
		return begun, false, err
	}
	over := tail.takeOver(shard, owner, nonce)
	err = s.place(ctx, []entry{newEntry(over)})[0]
	if errors.Is(err, engine.ErrFenced) {
		return begun, false, nil
	}
	if err != nil {
		return begun, false, err
	}
	begun = engine.Term{Number: uint64(over.Term), Position: uint64(over.Position)}
	applied, err := s.applied(ctx, shard)
	if err != nil {
		return begun, false, err
	}
	if applied >= begun.Position {
		// This try was suspended for so long that its place had been written, projected and trimmed, or another owner has
		// come since. Until applied reaches a position nothing there is deleted: below it the place was free.
		return begun, false, nil
	}
	if err := s.catchUp(ctx, shard, applied, begun.Position); err != nil {
		return begun, false, err
	}
	s.terms.begin(shard, term{number: begun.Number, owner: owner, nonce: nonce, began: begun.Position, last: begun.Position})
	s.projector.took(shard, applied, begun.Position)
	return begun, true, nil
}

// tail reads the newest entry of a shard, without what it puts; nil if there is none.
func (s *Store) tail(ctx context.Context, shard int) (*entryDocument, error) {
	all := bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: firstEntry(shard)}, {Key: "$lt", Value: afterEntries(shard)}}}}
	newest := options.Find().SetSort(descending("_id")).SetLimit(1).
		SetProjection(projection("position", "part", "last", "term"))
	var found []entryDocument
	err := s.repeat(ctx, func() (err error) {
		found, err = find[entryDocument](s.paced(ctx), s.journal, all, newest)
		return err
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// takeOver is the entry that follows the newest one: at the next position, or in the place of the next part of an entry
// that has not got its last part, whose position it then has.
func (d *entryDocument) takeOver(shard int, owner, nonce string) *entryDocument {
	over := &entryDocument{
		Shard: shard, Position: 1, Last: true, Kind: kindTakeOver, Term: 1, Owner: owner, Nonce: nonce, At: date(time.Now()),
	}
	if d != nil {
		over.Term, over.Position = d.Term+1, d.Position+1
		if !d.Last {
			over.Position, over.Part = d.Position, d.Part+1
		}
	}
	over.ID = entryID(shard, uint64(over.Position), over.Part)
	return over
}

// shardDocument is a document of shards: how far the journal of a shard has been projected. It may be behind.
type shardDocument struct {
	ID      string `bson:"_id"` // two digits
	Applied int64  `bson:"applied"`
}

func shardID(shard int) string { return fmt.Sprintf("%02d", shard) }

func (s *Store) applied(ctx context.Context, shard int) (uint64, error) {
	var found shardDocument
	err := s.repeat(ctx, func() error {
		limit, cancel := s.command(ctx)
		defer cancel()
		return s.shards.FindOne(limit, byID(shardID(shard))).Decode(&found)
	})
	if errors.Is(err, mongo.ErrNoDocuments) {
		return 0, nil
	}
	return uint64(found.Applied), err
}

// mergedBytes is how much of a journal is merged before it is projected.
const mergedBytes = 16 << 20

// catchUp projects what a shard's journal holds above one position and up to another, at which there is an entry.
func (s *Store) catchUp(ctx context.Context, shard int, above, upto uint64) error {
	merged := newMerged()
	err := s.replay(ctx, shard, above, upto, func(parts []*entryDocument) error {
		merged.add(s.projected(), parts)
		if merged.bytes < mergedBytes {
			return nil
		}
		err := s.project(ctx, merged)
		merged = newMerged()
		return err
	})
	if err != nil {
		return err
	}
	return s.project(ctx, merged)
}

// replay calls into with the commits of a shard's journal above one position and up to another, at which there is an entry:
// one after the other, with all its parts.
func (s *Store) replay(ctx context.Context, shard int, above, upto uint64, into func(parts []*entryDocument) error) error {
	var parts []*entryDocument
	last, seen := above, above
	take := func(raw bson.Raw) error {
		one := &entryDocument{}
		if err := bson.Unmarshal(raw, one); err != nil {
			return unreadable(s.journal, raw, err)
		}
		if len(parts) > 0 && (parts[0].Position != one.Position || one.Kind == kindTakeOver) {
			parts = nil // its owner lost the shard before the last part
		}
		if position := uint64(one.Position); position > last+1 {
			if err := s.missing(ctx, shard, last+1, position-1); err != nil {
				return err
			}
			last = position - 1
		}
		seen = uint64(one.Position)
		if one.Kind == kindCommit {
			parts = append(parts, one)
		}
		if !one.Last {
			return nil
		}
		last = seen
		whole := parts
		parts = nil
		return into(whole)
	}
	err := each(s.paced(ctx), s.journal, entriesOf(shard, above+1, upto+1), take, options.Find().SetSort(ascending("_id")))
	if err != nil || seen >= upto {
		return err
	}
	// Another projector has trimmed it since, or the server does not know of it.
	applied, err := s.applied(ctx, shard)
	if err == nil && applied < upto {
		err = fmt.Errorf("the server gave the journal of shard %d up to %d, and it goes to %d", shard, seen, upto)
	}
	return err
}

// missing looks into positions that are not in the journal: another projector may have projected and trimmed them meanwhile.
func (s *Store) missing(ctx context.Context, shard int, from, to uint64) error {
	applied, err := s.applied(ctx, shard)
	if err == nil && applied < to {
		s.config.Logger.Error("the journal lacks entries that were not projected: they were deleted in the database",
			"shard", shard, "from", max(from, applied+1), "to", to)
	}
	return err
}

// behind calls do with each shard whose journal goes beyond what is recorded as projected, and from where to where.
func (s *Store) behind(ctx context.Context, do func(shard int, above, upto uint64) error) error {
	for shard := range engine.Shards { // one after the other: ctx may have a session
		tail, err := s.tail(ctx, shard)
		if err != nil {
			return err
		}
		if tail == nil {
			continue
		}
		applied, err := s.applied(ctx, shard)
		if err == nil && applied < uint64(tail.Position) {
			err = do(shard, applied, uint64(tail.Position))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// projectAll brings the collections up to the ends of all journals, whichever engines own the shards, and records it: what
// the journals hold now is not projected again.
func (s *Store) projectAll(ctx context.Context) error {
	return s.behind(ctx, func(shard int, above, upto uint64) error {
		if err := s.catchUp(ctx, shard, above, upto); err != nil {
			return err
		}
		return s.record(ctx, map[int]reach{shard: {applied: upto}})
	})
}

// unprojected returns what all journals hold beyond what is recorded as projected.
func (s *Store) unprojected(ctx context.Context) (*merged, error) {
	m := newMerged()
	err := s.behind(ctx, func(shard int, above, upto uint64) error {
		return s.replay(ctx, shard, above, upto, func(parts []*entryDocument) error {
			m.add(s.projected(), parts)
			return nil
		})
	})
	return m, err
}
