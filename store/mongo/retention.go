package mongo

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

// Retention deletes by buckets of time: one command finds the end of the oldest documents, by an index, and one deletes what
// ended before it. So thousands go with two commands of a few bytes, which leave all work to the server; what is deleted is
// what matches at that moment, and a document that has changed meanwhile stays.

// ExpireRuns deletes at most limit runs of these shards that ended before before, the oldest first. Most keep nothing beside their
// document: they go unseen. The others are read first and deleted by _id. A run that was tried again meanwhile stays. Where a
// deletion has an unclear end, what is gone counts as deleted.
func (s *Store) ExpireRuns(ctx context.Context, shards []int, before time.Time, limit int) (expired engine.ExpiredRuns, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if limit <= 0 || len(shards) == 0 {
		return expired, nil
	}
	old := bucket{in: s.runs, of: among("shard", shards), field: "ended_at"}
	if err := s.end(ctx, &old, before, limit); err != nil {
		return expired, s.failed("expire runs", err)
	}
	bare := old
	bare.of = append(slices.Clone(old.of), bson.E{Key: "bare", Value: true})
	if expired.Count, err = s.deleteBucket(ctx, &bare); err != nil {
		return expired, s.failed("expire runs", err)
	}
	room := min(limit-expired.Count, s.config.BulkSize)
	if expired.Beside, err = s.expireSeen(ctx, &old, room); err == nil && expired.Count+len(expired.Beside) == 0 && old.more {
		old.upto++ // more than limit ended in one millisecond
		expired.Beside, err = s.expireSeen(ctx, &old, room)
	}
	expired.Count += len(expired.Beside)
	if expired.Count > 0 {
		expired.Upto = instant(old.upto)
	}
	return expired, s.failed("expire runs", err)
}

// expireSeen deletes the oldest runs of a bucket and gives them.
func (s *Store) expireSeen(ctx context.Context, old *bucket, limit int) ([]engine.Run, error) {
	if limit <= 0 {
		return nil, nil
	}
	runs, err := list[runDocument](ctx, s.runs, old.filter(), options.Find().SetSort(ascending(old.field)).SetLimit(int64(limit)))
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	ids := make([]string, len(runs))
	for i := range runs {
		ids[i] = runs[i].ID
	}
	if err := s.remove(ctx, s.runs, ids, old.filter()[1:]); err != nil { // keysOf names the shards
		return nil, err
	}
	var left []bson.Raw
	err = s.repeat(ctx, func() (err error) {
		left, err = find[bson.Raw](ctx, s.runs, keysOf(s.runs, ids), options.Find().SetProjection(byID1))
		return err
	})
	return slices.DeleteFunc(runs, func(run engine.Run) bool {
		return slices.ContainsFunc(left, func(d bson.Raw) bool { return d.Lookup("_id").StringValue() == run.ID })
	}), err
}

// byID1 is the projection to the _id alone.
var byID1 = bson.D{{Key: "_id", Value: 1}}

// bucket is some documents of a collection: those with a date below upto.
type bucket struct {
	in    *mongo.Collection
	of    bson.D // what else they have in common
	field string // the date
	upto  bson.DateTime
	more  bool // there are documents at upto, or above, that are old enough
}

func (b *bucket) filter() bson.D {
	return append(slices.Clone(b.of), bson.E{Key: b.field, Value: bson.D{{Key: "$lt", Value: b.upto}}})
}

// end makes a bucket end where at most limit of the oldest documents are in it, and no later than before.
func (s *Store) end(ctx context.Context, b *bucket, before time.Time, limit int) error {
	b.upto = date(before)
	next := options.FindOne().SetSort(ascending(b.field)).SetSkip(int64(limit)).SetProjection(bson.D{{Key: "_id", Value: 0}, {Key: b.field, Value: 1}})
	var found bson.Raw
	err := s.repeat(ctx, func() (err error) {
		found, err = b.in.FindOne(ctx, b.filter(), next).Raw()
		return err
	})
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil
	}
	if err == nil {
		upto, _ := found.Lookup(b.field).DateTimeOK()
		b.upto, b.more = bson.DateTime(upto), true
	}
	return err
}

// deleteBucket deletes what is in a bucket. After a try of which nothing is known the count is at least one, so that the caller
// looks again.
func (s *Store) deleteBucket(ctx context.Context, b *bucket) (n int, err error) {
	unclear := 0
	err = s.repeat(ctx, func() error {
		result, err := b.in.DeleteMany(ctx, b.filter())
		if err != nil {
			unclear = 1
			return err
		}
		n = int(result.DeletedCount)
		return nil
	})
	return max(n, unclear), err
}

// expireBucket deletes at most limit documents with a date before an instant, the oldest first.
func (s *Store) expireBucket(ctx context.Context, in *mongo.Collection, field string, before time.Time, limit int) (deleted int, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if limit <= 0 {
		return 0, nil
	}
	old := bucket{in: in, field: field}
	if err := s.end(ctx, &old, before, limit); err != nil {
		return 0, err
	}
	deleted, err = s.deleteBucket(ctx, &old)
	if err != nil || deleted > 0 || !old.more {
		return deleted, err
	}
	old.upto++ // more than limit are of one millisecond
	some, err := find[bson.Raw](ctx, in, old.filter(), options.Find().SetSort(ascending(field)).SetLimit(int64(limit)).SetProjection(byID1))
	if err != nil {
		return 0, err
	}
	ids := make([]string, len(some))
	for i := range some {
		ids[i] = idOfRaw(some[i])
	}
	return len(ids), s.remove(ctx, in, ids, old.filter())
}

// ExpireSlots deletes at most limit ledger entries whose last slot is before before.
func (s *Store) ExpireSlots(ctx context.Context, before time.Time, limit int) (deleted int, err error) {
	deleted, err = s.expireBucket(ctx, s.slots, "to", before, limit)
	return deleted, s.failed("expire slots", err)
}

// ExpireDeadLetters deletes at most limit dead letters that were written before an instant.
func (s *Store) ExpireDeadLetters(ctx context.Context, before time.Time, limit int) (deleted int, err error) {
	deleted, err = s.expireBucket(ctx, s.deadLetters, "at", before, limit)
	return deleted, s.failed("expire dead letters", err)
}
