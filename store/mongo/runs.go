package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
)

// revisionOf is the condition that the stored document has a revision.
func revisionOf(revision int64) bson.D { return bson.D{{Key: "revision", Value: revision}} }

// revised decides about a document that is written by revision: written reports whether what is stored is this write.
func revised(revision int64, storedRevision int64, written bool) step {
	switch {
	case written:
		return stepDone
	case storedRevision == revision-1:
		return stepReplace
	default:
		return stepRefused
	}
}

// Run returns one run; engine.ErrNotFound.
func (s *Store) Run(ctx context.Context, id string) (engine.Run, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	run, err := one[runDocument](ctx, s.runs, keyOf(s.runs, id))
	return run, s.failed("read run "+id, err)
}

// RunsByID returns those runs that exist, in no order.
func (s *Store) RunsByID(ctx context.Context, ids []string) ([]engine.Run, error) {
	if err := s.projector.flush(ctx); err != nil {
		return nil, s.failed("read runs", err)
	}
	ctx = s.paced(ctx)
	runs, err := listAmong[runDocument](ctx, s.runs, "_id", ids, nil, s.config.BulkSize)
	return runs, s.failed("read runs", err)
}

// ActiveRuns returns runs of these shards that have not ended, with ids above after, in the order of their ids.
func (s *Store) ActiveRuns(ctx context.Context, shards []int, after string, limit int) ([]engine.Run, error) {
	if err := s.projector.flush(ctx); err != nil || len(shards) == 0 {
		return nil, s.failed("read active runs", err)
	}
	runs, err := list[runDocument](s.paced(ctx), s.runs, activeAbove(shards, after), pageByID(limit))
	return runs, s.failed("read active runs", err)
}

// ActiveRunIDs returns the ids of runs of these shards that have not ended, those above after, in order.
func (s *Store) ActiveRunIDs(ctx context.Context, shards []int, after string, limit int) ([]string, error) {
	if err := s.projector.flush(ctx); err != nil || len(shards) == 0 {
		return nil, s.failed("read the ids of active runs", err)
	}
	var ids []string
	err := each(s.paced(ctx), s.runs, activeAbove(shards, after), func(raw bson.Raw) error {
		id, _ := raw.Lookup("_id").StringValueOK()
		ids = append(ids, id)
		return nil
	}, pageByID(limit).SetProjection(projection("_id")).SetBatchSize(10_000))
	return ids, s.failed("read the ids of active runs", err)
}

// activeAbove is the condition for runs of these shards that have not ended, with ids above one.
func activeAbove(shards []int, after string) bson.D {
	filter := append(among("shard", shards), bson.E{Key: "active", Value: true})
	if after != "" {
		filter = append(filter, bson.E{Key: "_id", Value: bson.D{{Key: "$gt", Value: after}}})
	}
	return filter
}

func pageByID(limit int) *options.FindOptionsBuilder {
	return options.Find().SetSort(ascending("_id")).SetLimit(int64(max(limit, 0)))
}

// ActiveRunsOf returns all runs of these jobs that have not ended, in no order.
func (s *Store) ActiveRunsOf(ctx context.Context, uids []string) ([]engine.Run, error) {
	if err := s.projector.flush(ctx); err != nil {
		return nil, s.failed("read active runs of jobs", err)
	}
	ctx = s.paced(ctx)
	runs, err := listAmong[runDocument](ctx, s.runs, "job_uid", uids, bson.D{{Key: "active", Value: true}}, s.config.BulkSize)
	return runs, s.failed("read active runs of jobs", err)
}
