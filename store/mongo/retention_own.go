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

// What a job or a DAG keeps by a rule of its own is looked for by its uid, through the indexes of its history, and deleted as by
// the general rule. Each command names the shard, so that on a sharded cluster one server answers it.

// ExpireRunsOf deletes at most limit runs of a job that its own retention takes.
func (s *Store) ExpireRunsOf(ctx context.Context, uid string, what engine.OwnExpiry, limit int) (expired engine.ExpiredRuns, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	if limit <= 0 {
		return expired, nil
	}
	ended := append(inShardsOf([]string{uid}), bson.E{Key: "job_uid", Value: uid}, bson.E{Key: "active", Value: false})
	if what.Newest > 0 {
		expired, err = s.expireBeyond(ctx, ended, &what, limit)
	}
	if err == nil && expired.Count == 0 && !what.Before.IsZero() {
		old := bucket{in: s.runs, of: with(ended, before("ended_at", what.Before)), field: "created_at"}
		expired, err = s.expireOldest(ctx, &old, what.Before, limit)
	}
	return expired, s.failed("expire runs of "+uid, err)
}

// with returns a condition with more in it. It shares nothing with the given one.
func with(condition bson.D, more ...bson.E) bson.D { return slices.Concat(condition, more) }

func before(field string, at time.Time) bson.E {
	return bson.E{Key: field, Value: bson.D{{Key: "$lt", Value: date(at)}}}
}

// firstBeyond returns the position, in the order of their making, of the newest document beyond a number of them; nil if there
// are no more.
func (s *Store) firstBeyond(ctx context.Context, in *mongo.Collection, ended bson.D, newest int) (*position, error) {
	next := options.FindOne().SetSort(descending("created_at", "_id")).SetSkip(int64(newest)).SetProjection(projection("created_at"))
	var found bson.Raw
	err := s.repeat(ctx, func() (err error) {
		found, err = in.FindOne(ctx, ended, next).Raw()
		return err
	})
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	at, _ := found.Lookup("created_at").DateTimeOK()
	return &position{bson.DateTime(at), idOfRaw(found)}, nil
}

// expireBeyond deletes at most limit of the runs that have ended beyond the newest, which stay.
func (s *Store) expireBeyond(ctx context.Context, ended bson.D, what *engine.OwnExpiry, limit int) (expired engine.ExpiredRuns, err error) {
	first, err := s.firstBeyond(ctx, s.runs, ended, what.Newest)
	if err != nil || first == nil {
		return expired, err
	}
	settled := with(ended, before("ended_at", what.Settled))
	old := bucket{in: s.runs, of: settled, field: "created_at"}
	// None of them was made after it ended: the bound keeps those that ended just now out of the search.
	expired, err = s.expireOldest(ctx, &old, instant(min(first.at, date(what.Settled))), limit)
	if err != nil || expired.Count > 0 {
		return expired, err
	}
	// All that is left was made at the same instant as some that stay.
	same := with(settled, bson.E{Key: "created_at", Value: first.at}, bson.E{Key: "_id", Value: bson.D{{Key: "$lte", Value: first.id}}})
	expired.Beside, err = s.expireEach(ctx, same, settled[1:], options.Find().SetSort(ascending("created_at", "_id")).SetLimit(int64(min(limit, s.config.BulkSize))))
	if expired.Count = len(expired.Beside); expired.Count > 0 {
		expired.Upto = what.Settled
	}
	return expired, err
}

// ExpireWavesOf deletes at most limit waves of a DAG that its own retention takes, with their runs. The wave of the highest
// epoch stays. A wave goes after its runs, so that a crash in between leaves nothing that is not found again.
func (s *Store) ExpireWavesOf(ctx context.Context, uid string, what engine.OwnExpiry, limit int) (expired engine.ExpiredWaves, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	waves, err := s.wavesToExpire(ctx, uid, &what, limit)
	for _, wave := range waves {
		if err != nil {
			break
		}
		err = s.expireWave(ctx, wave, &expired)
	}
	return expired, s.failed("expire waves of "+uid, err)
}

// wavesToExpire returns the ids of some waves of a DAG that its own retention takes, the oldest first.
func (s *Store) wavesToExpire(ctx context.Context, uid string, what *engine.OwnExpiry, limit int) (waves []string, err error) {
	ended := append(inShardsOf([]string{uid}), bson.E{Key: "dag_uid", Value: uid}, bson.E{Key: "open", Value: false})
	last, err := s.lastEpochs(ctx, []string{uid})
	if err != nil {
		return nil, err
	}
	oldest := options.Find().SetSort(ascending("created_at", "_id")).SetLimit(int64(limit)).SetProjection(byID1)
	look := func(old bson.D) error {
		old = append(old, bson.E{Key: "epoch", Value: bson.D{{Key: "$lt", Value: max(last[uid], 1)}}})
		found, err := find[bson.Raw](ctx, s.waves, old, oldest)
		for i := range found {
			waves = append(waves, idOfRaw(found[i]))
		}
		return err
	}
	if what.Newest > 0 {
		first, err := s.firstBeyond(ctx, s.waves, ended, what.Newest)
		if err != nil {
			return nil, err
		}
		if first != nil {
			// As in newestFirst: the bound is for the index, the alternative leaves out those of the same instant that stay.
			err = look(with(ended, before("finished_at", what.Settled),
				bson.E{Key: "created_at", Value: bson.D{{Key: "$lte", Value: first.at}}},
				bson.E{Key: "$or", Value: bson.A{
					bson.D{{Key: "created_at", Value: bson.D{{Key: "$lt", Value: first.at}}}},
					bson.D{{Key: "_id", Value: bson.D{{Key: "$lte", Value: first.id}}}},
				}}))
		}
		if err != nil || len(waves) > 0 {
			return waves, err
		}
	}
	if !what.Before.IsZero() {
		err = look(with(ended, before("finished_at", what.Before), before("created_at", what.Before)))
	}
	return waves, err
}

// expireWave deletes a wave that has ended, and its runs before it.
func (s *Store) expireWave(ctx context.Context, wave string, expired *engine.ExpiredWaves) error {
	for _, of := range engine.WaveRunIDs(wave) {
		if of[0] == "" {
			continue
		}
		runs := with(inShardsOf([]string{wave}), bson.E{Key: "_id", Value: bson.D{{Key: "$gt", Value: of[0]}, {Key: "$lt", Value: of[1]}}},
			bson.E{Key: "active", Value: false})
		bare, err := s.deleteBucket(ctx, &bucket{in: s.runs, of: with(runs, bson.E{Key: "bare", Value: true})})
		expired.Runs.Count += bare
		for err == nil {
			var some []engine.Run
			some, err = s.expireEach(ctx, runs, runs[2:], options.Find().SetSort(ascending("_id")).SetLimit(int64(s.config.BulkSize)))
			expired.Runs.Count += len(some)
			expired.Runs.Beside = append(expired.Runs.Beside, some...)
			if len(some) < s.config.BulkSize {
				break
			}
		}
		if err != nil {
			return err
		}
	}
	expired.Count++
	return s.remove(ctx, s.waves, []string{wave}, bson.D{{Key: "open", Value: false}})
}
