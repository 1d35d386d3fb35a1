package mongo

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

// ExpireRuns deletes at most limit runs that ended before before, the oldest first, and tells which. A run that an
// operator has tried again meanwhile stays. Where the deletion has an unclear end, what is gone counts as deleted.
func (s *Store) ExpireRuns(ctx context.Context, before time.Time, limit int) (deleted []engine.Run, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if limit <= 0 {
		return nil, nil
	}
	old := bson.D{{Key: "active", Value: false}, {Key: "ended_at", Value: bson.D{{Key: "$lt", Value: date(before)}}}}
	runs, err := list[runDocument](ctx, s.runs, old, options.Find().SetSort(ascending("ended_at")).SetLimit(int64(min(limit, s.config.BulkSize))))
	if err != nil || len(runs) == 0 {
		return nil, s.failed("expire runs", err)
	}
	ids := make([]string, len(runs))
	for i := range runs {
		ids[i] = runs[i].ID
	}
	deletions := int64(0)
	filter := append(byIDs(ids), old...)
	err = s.repeat(ctx, func() error {
		result, err := s.runs.DeleteMany(ctx, filter)
		if err == nil {
			deletions = result.DeletedCount
		}
		return err
	})
	if err != nil {
		return nil, s.failed("expire runs", err)
	}
	if deletions == int64(len(runs)) {
		return runs, nil
	}
	var left []bson.Raw
	err = s.repeat(ctx, func() (err error) {
		left, err = find[bson.Raw](ctx, s.runs, byIDs(ids), options.Find().SetProjection(byID1))
		return err
	})
	if err != nil {
		return nil, s.failed("expire runs", err)
	}
	return slices.DeleteFunc(runs, func(run engine.Run) bool {
		return slices.ContainsFunc(left, func(d bson.Raw) bool { return d.Lookup("_id").StringValue() == run.ID })
	}), nil
}

// byID1 is the projection to the _id alone.
var byID1 = bson.D{{Key: "_id", Value: 1}}

// ExpireSlots deletes at most limit ledger entries whose last slot is before before.
func (s *Store) ExpireSlots(ctx context.Context, before time.Time, limit int) (deleted int, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if limit <= 0 {
		return 0, nil
	}
	old := bson.D{{Key: "to", Value: bson.D{{Key: "$lt", Value: date(before)}}}}
	slots, err := list[slotDocument](ctx, s.slots, old, options.Find().SetSort(ascending("to")).SetLimit(int64(min(limit, s.config.BulkSize))))
	if err != nil || len(slots) == 0 {
		return 0, s.failed("expire slots", err)
	}
	ids := make([]string, len(slots))
	for i := range slots {
		ids[i] = slots[i].ID
	}
	// An entry that has grown meanwhile is not old any more. After an unclear end the count is what it would have been.
	if err := s.remove(ctx, s.slots, ids, old); err != nil {
		return 0, s.failed("expire slots", err)
	}
	return len(ids), nil
}

// ExpireDeadLetters deletes at most limit dead letters that were written before an instant.
func (s *Store) ExpireDeadLetters(ctx context.Context, before time.Time, limit int) (deleted int, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if limit <= 0 {
		return 0, nil
	}
	old := bson.D{{Key: "at", Value: bson.D{{Key: "$lt", Value: date(before)}}}}
	letters, err := list[letterDocument](ctx, s.deadLetters, old,
		options.Find().SetSort(ascending("at")).SetLimit(int64(min(limit, s.config.BulkSize))))
	if err != nil || len(letters) == 0 {
		return 0, s.failed("expire dead letters", err)
	}
	ids := make([]string, len(letters))
	for i := range letters {
		ids[i] = letters[i].RunID
	}
	// One that was dropped and written anew meanwhile is not old any more.
	if err := s.remove(ctx, s.deadLetters, ids, old); err != nil {
		return 0, s.failed("expire dead letters", err)
	}
	return len(ids), nil
}
