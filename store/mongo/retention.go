package mongo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

// Retention deletes by buckets of time: one command finds the end of the oldest documents, by an index, and one deletes what
// ended before it. So thousands go with two commands of a few bytes, which leave all work to the server; what is deleted is
// what matches at that moment, and a document that has changed meanwhile stays.

// ExpireRuns deletes at most limit runs of these shards that an expiry takes, the oldest first. Most keep nothing beside their
// document: they go unseen. The others are read first and deleted by _id. A run that was retried meanwhile stays. Where a
// deletion has an unclear end, what is gone counts as deleted.
func (s *Store) ExpireRuns(ctx context.Context, shards []int, what engine.Expiry, limit int) (expired engine.ExpiredRuns, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if limit <= 0 || len(shards) == 0 {
		return expired, nil
	}
	old := bucket{in: s.runs, of: among("shard", shards), field: "ended_at", from: what.From}
	if what.All() {
		expired, err = s.expireOldest(ctx, &old, what.Before, limit)
	} else {
		expired, err = s.expireAmong(ctx, &old, &what, limit)
	}
	return expired, s.failed("expire runs", err)
}

// expireAmong deletes those of the oldest runs that an expiry takes, and leaves the others. It looks at no more than limit runs,
// by the index alone, so that many which stay cost no long command.
func (s *Store) expireAmong(ctx context.Context, old *bucket, what *engine.Expiry, limit int) (expired engine.ExpiredRuns, err error) {
	if err := s.end(ctx, old, what.Before, limit); err != nil {
		return expired, err
	}
	if old.more && !instant(old.upto).After(what.From) {
		old.upto++ // more than limit ended in one millisecond
	} else {
		some := *old
		some.of = with(old.of, append(narrowed(what, "job_uid"), bson.E{Key: "bare", Value: true})...)
		if expired.Count, err = s.deleteBucket(ctx, &some); err != nil {
			return expired, err
		}
	}
	room := min(limit-expired.Count, s.config.BulkSize)
	rest := *old
	rest.of = with(old.of, narrowed(what, "job_uid")...)
	expired.Beside, err = s.expireSeen(ctx, &rest, room)
	if expired.Count += len(expired.Beside); expired.Count > 0 {
		expired.Upto = instant(old.upto)
	}
	if expired.Done = what.From; room > 0 && len(expired.Beside) < room {
		expired.Done = instant(old.upto)
	}
	return expired, err
}

// narrowed is the condition that an expiry adds to its instants, where uid is the field for the uid of the job or DAG.
func narrowed(what *engine.Expiry, uid string) (condition bson.D) {
	if len(what.Namespaces) > 0 {
		condition = append(condition, among("namespace", what.Namespaces)...)
	}
	if len(what.Except) > 0 {
		condition = append(condition, bson.E{Key: "namespace", Value: bson.D{{Key: "$nin", Value: what.Except}}})
	}
	if len(what.Longer) > 0 {
		condition = append(condition, bson.E{Key: uid, Value: bson.D{{Key: "$nin", Value: what.Longer}}})
	}
	return condition
}

// expireOldest deletes at most limit of the runs of a bucket that are older than an instant, the oldest first. The first
// condition of the bucket names the shards.
func (s *Store) expireOldest(ctx context.Context, old *bucket, before time.Time, limit int) (expired engine.ExpiredRuns, err error) {
	if err := s.end(ctx, old, before, limit); err != nil {
		return expired, err
	}
	bare := *old
	bare.of = append(slices.Clone(old.of), bson.E{Key: "bare", Value: true})
	if expired.Count, err = s.deleteBucket(ctx, &bare); err != nil {
		return expired, err
	}
	room := min(limit-expired.Count, s.config.BulkSize)
	if expired.Beside, err = s.expireSeen(ctx, old, room); err == nil && expired.Count+len(expired.Beside) == 0 && old.more {
		old.upto++ // more than limit ended in one millisecond
		expired.Beside, err = s.expireSeen(ctx, old, room)
	}
	expired.Count += len(expired.Beside)
	if expired.Count > 0 {
		expired.Upto = instant(old.upto)
	}
	return expired, err
}

// expireSeen deletes the oldest runs of a bucket, the first condition of which names the shards, and returns them.
func (s *Store) expireSeen(ctx context.Context, old *bucket, limit int) ([]engine.Run, error) {
	if limit <= 0 {
		return nil, nil
	}
	return s.expireEach(ctx, old.filter(), old.filter()[1:], options.Find().SetSort(ascending(old.field)).SetLimit(int64(limit)))
}

// expireEach deletes the runs that a search finds, if a condition still holds for them, and returns them.
func (s *Store) expireEach(ctx context.Context, filter, still bson.D, search *options.FindOptionsBuilder) ([]engine.Run, error) {
	runs, err := list[runDocument](ctx, s.runs, filter, search)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	ids := make([]string, len(runs))
	for i := range runs {
		ids[i] = runs[i].ID
	}
	if err := s.remove(ctx, s.runs, ids, still); err != nil { // keysOf names the shards
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
	of    bson.D    // what else they have in common
	field string    // the date; "" for none
	from  time.Time // the date is not before it
	upto  bson.DateTime
	more  bool // there are documents at upto, or above, that are old enough
}

func (b *bucket) filter() bson.D {
	if b.field == "" {
		return b.of
	}
	dates := bson.D{{Key: "$lt", Value: b.upto}}
	if !b.from.IsZero() {
		dates = append(dates, bson.E{Key: "$gte", Value: date(b.from)})
	}
	return append(slices.Clone(b.of), bson.E{Key: b.field, Value: dates})
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

// expireBucket deletes at most limit documents of a bucket with a date before an instant, the oldest first.
func (s *Store) expireBucket(ctx context.Context, old *bucket, before time.Time, limit int) (deleted int, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if limit <= 0 {
		return 0, nil
	}
	if err := s.end(ctx, old, before, limit); err != nil {
		return 0, err
	}
	deleted, err = s.deleteBucket(ctx, old)
	if err != nil || deleted > 0 || !old.more {
		return deleted, err
	}
	old.upto++ // more than limit are of one millisecond
	oldest := options.Find().SetSort(ascending(old.field)).SetLimit(int64(limit)).SetProjection(byID1)
	some, err := find[bson.Raw](ctx, old.in, old.filter(), oldest)
	if err != nil {
		return 0, err
	}
	ids := make([]string, len(some))
	for i := range some {
		ids[i] = idOfRaw(some[i])
	}
	return len(ids), s.remove(ctx, old.in, ids, old.filter())
}

// ExpireSlots deletes at most limit ledger entries whose last slot an expiry takes. Those of a root are under the uid of its DAG
// and its name.
func (s *Store) ExpireSlots(ctx context.Context, what engine.Expiry, limit int) (deleted int, err error) {
	longer := what.Longer
	what.Longer = nil
	old := bucket{in: s.slots, of: narrowed(&what, "job_uid"), field: "to", from: what.From}
	if len(longer) > 0 {
		of := bson.Regex{Pattern: "^(" + strings.Join(longer, "|") + ")(-|$)"}
		old.of = append(old.of, bson.E{Key: "job_uid", Value: bson.D{{Key: "$not", Value: of}}})
	}
	deleted, err = s.expireBucket(ctx, &old, what.Before, limit)
	return deleted, s.failed("expire slots", err)
}

// ExpireDeadLetters deletes at most limit dead letters that an expiry takes, by when they were written.
func (s *Store) ExpireDeadLetters(ctx context.Context, what engine.Expiry, limit int) (deleted int, err error) {
	old := bucket{in: s.deadLetters, of: narrowed(&what, "job_uid"), field: "at", from: what.From}
	deleted, err = s.expireBucket(ctx, &old, what.Before, limit)
	return deleted, s.failed("expire dead letters", err)
}
