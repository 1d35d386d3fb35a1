package mongo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"golang.org/x/sync/errgroup"

	"github.com/tidewheel/tidewheel/engine"
)

// Wave returns one wave; engine.ErrNotFound.
func (s *Store) Wave(ctx context.Context, id string) (engine.Wave, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	wave, err := one[waveDocument](ctx, s.waves, keyOf(s.waves, id))
	return wave, s.failed("read wave "+id, err)
}

// WavesByID returns those waves that exist, in no order.
func (s *Store) WavesByID(ctx context.Context, ids []string) ([]engine.Wave, error) {
	if err := s.projector.flush(ctx); err != nil {
		return nil, s.failed("read waves", err)
	}
	ctx = s.paced(ctx)
	waves, err := listAmong[waveDocument](ctx, s.waves, "_id", ids, nil, s.config.BulkSize)
	return waves, s.failed("read waves", err)
}

var openWave = bson.E{Key: "open", Value: true}

// OpenWaves returns waves of these shards that are scheduled or running, with ids above after, in the order of their ids.
func (s *Store) OpenWaves(ctx context.Context, shards []int, after string, limit int) ([]engine.Wave, error) {
	if err := s.projector.flush(ctx); err != nil {
		return nil, s.failed("read open waves", err)
	}
	if len(shards) == 0 {
		return nil, nil
	}
	ctx = s.paced(ctx)
	filter := append(among("shard", shards), openWave)
	if after != "" {
		filter = append(filter, bson.E{Key: "_id", Value: bson.D{{Key: "$gt", Value: after}}})
	}
	waves, err := list[waveDocument](ctx, s.waves, filter, options.Find().SetSort(ascending("_id")).SetLimit(int64(max(limit, 0))))
	return waves, s.failed("read open waves", err)
}

// OpenWavesOf returns all waves of these DAGs that are scheduled or running, in no order.
func (s *Store) OpenWavesOf(ctx context.Context, dagUIDs []string) ([]engine.Wave, error) {
	if err := s.projector.flush(ctx); err != nil {
		return nil, s.failed("read open waves of DAGs", err)
	}
	ctx = s.paced(ctx)
	waves, err := listAmong[waveDocument](ctx, s.waves, "dag_uid", dagUIDs, bson.D{openWave}, s.config.BulkSize)
	return waves, s.failed("read open waves of DAGs", err)
}

// LastEpochs returns the highest epoch that any wave of each DAG has: the end of an index for each.
func (s *Store) LastEpochs(ctx context.Context, dagUIDs []string) (map[string]int64, error) {
	if err := s.projector.flush(ctx); err != nil {
		return nil, s.failed("read last epochs", err)
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	last, err := s.lastEpochs(ctx, dagUIDs)
	return last, s.failed("read last epochs", err)
}

func (s *Store) lastEpochs(ctx context.Context, dagUIDs []string) (map[string]int64, error) {
	type epoch struct {
		Epoch int64 `bson:"epoch"`
	}
	highest := options.Find().SetSort(descending("epoch")).SetLimit(1).SetProjection(projection("epoch"))
	last := map[string]int64{}
	var mu sync.Mutex
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(marksAtOnce)
	for _, uid := range dagUIDs {
		group.Go(func() error {
			found, err := find[epoch](within, s.waves, append(bson.D{{Key: "dag_uid", Value: uid}}, inShardsOf([]string{uid})...), highest)
			if len(found) > 0 && found[0].Epoch > 0 {
				mu.Lock()
				defer mu.Unlock()
				last[uid] = found[0].Epoch
			}
			return err
		})
	}
	return last, group.Wait()
}

// RunsOfWave returns runs of a wave, ended or not, with ids above after, in the order of their ids: ranges of the _id.
func (s *Store) RunsOfWave(ctx context.Context, wave, after string, limit int) (runs []engine.Run, err error) {
	if err := s.projector.flush(ctx); err != nil {
		return nil, s.failed("read runs of wave", err)
	}
	ctx = s.paced(ctx)
	for _, ids := range engine.WaveRunIDs(wave) {
		from, room := max(ids[0], after), limit-len(runs)
		if from >= ids[1] || room <= 0 {
			continue
		}
		filter := bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: from}, {Key: "$lt", Value: ids[1]}}}, notDropped()}
		filter = append(filter, inShardsOf([]string{wave})...)
		some, err := list[runDocument](ctx, s.runs, filter, options.Find().SetSort(ascending("_id")).SetLimit(int64(room)))
		if err != nil {
			return nil, s.failed("read runs of wave "+wave, err)
		}
		runs = append(runs, some...)
	}
	return runs, nil
}

// Waves lists waves, the latest created first, with the cursor of the next page.
func (s *Store) Waves(ctx context.Context, filter engine.WaveFilter) (waves []engine.Wave, next string, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	after, err := parsePosition(filter.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("mongo: list waves: %w", err)
	}
	limit := pageSize(filter.Limit)
	namespaces := []string{filter.Namespace}
	if filter.Namespace == "" && filter.DAGUID == "" { // each has a part of the index
		if namespaces, err = s.namespaces(ctx, s.oldWaves); err != nil {
			return nil, "", s.failed("list waves", err)
		}
	}
	for _, namespace := range namespaces {
		some, err := s.newestWaves(ctx, &filter, namespace, after, limit+1)
		if err != nil {
			return nil, "", s.failed("list waves", err)
		}
		waves = append(waves, some...)
	}
	slices.SortFunc(waves, func(a, b engine.Wave) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(b.ID, a.ID))
	})
	waves, last := cut(waves, limit)
	if last != nil {
		next = position{date(last.CreatedAt), last.ID}.cursor()
	}
	return waves, next, nil
}

// newestWaves reads limit waves of a namespace ("" for that of the DAG) after a position, newest first.
func (s *Store) newestWaves(ctx context.Context, filter *engine.WaveFilter, namespace string, after *position, limit int) ([]engine.Wave, error) {
	condition := bson.D{}
	if namespace != "" {
		condition = append(condition, bson.E{Key: "namespace", Value: namespace})
	}
	if filter.DAGUID != "" {
		condition = append(condition, bson.E{Key: "dag_uid", Value: filter.DAGUID})
		condition = append(condition, inShardsOf([]string{filter.DAGUID})...)
	}
	if len(filter.Statuses) > 0 {
		names := make([]string, len(filter.Statuses))
		for i, status := range filter.Statuses {
			names[i] = status.String()
		}
		condition = append(condition, among("status", names)...)
	}
	made, order := newestFirst("created_at", filter.Since, filter.Until, after)
	return list[waveDocument](ctx, s.oldWaves, append(condition, made...), options.Find().SetSort(order).SetLimit(int64(limit)))
}

// ExpireWaves deletes at most limit waves that an expiry takes, the oldest first. The wave of a DAG's highest epoch
// stays for as long as the DAG: its epochs count on from there. Where the deletion has an unclear end, what is gone
// counts as deleted.
func (s *Store) ExpireWaves(ctx context.Context, what engine.Expiry, limit int) (deleted int, err error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	old := bson.D{{Key: "open", Value: false}, {Key: "finished_at", Value: bson.D{{Key: "$lt", Value: date(what.Before)}}}}
	var after *position
	for deleted < limit {
		some, last, err := s.endedWaves(ctx, &what, after)
		if err != nil {
			return deleted, s.failed("expire waves", err)
		}
		ids, err := s.expendable(ctx, some)
		if err != nil {
			return deleted, s.failed("expire waves", err)
		}
		ids = ids[:min(limit-deleted, len(ids))]
		if err := s.remove(ctx, s.waves, ids, old); err != nil {
			return deleted, s.failed("expire waves", err)
		}
		deleted += len(ids)
		if last == nil {
			break
		}
		after = last // those that stay are not looked at again
	}
	return deleted, nil
}

// endedWaves reads some waves after a position, by their ends, and returns the position of the last if there may be more.
func (s *Store) endedWaves(ctx context.Context, what *engine.Expiry, after *position) (waves []waveDocument, last *position, err error) {
	bounds := bson.D{{Key: "$lt", Value: date(what.Before)}}
	filter := append(bson.D{{Key: "open", Value: false}}, narrowed(what, "dag_uid")...)
	if after == nil && !what.From.IsZero() {
		bounds = append(bounds, bson.E{Key: "$gte", Value: date(what.From)})
	}
	if after != nil {
		// As in newestFirst: the bound is for the index, the alternative leaves out what was given before.
		bounds = append(bounds, bson.E{Key: "$gte", Value: after.at})
		filter = append(filter, bson.E{Key: "$or", Value: bson.A{
			bson.D{{Key: "finished_at", Value: bson.D{{Key: "$gt", Value: after.at}}}},
			bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: after.id}}}},
		}})
	}
	filter = append(filter, bson.E{Key: "finished_at", Value: bounds})
	size := s.config.BulkSize
	waves, err = find[waveDocument](ctx, s.waves, filter, options.Find().SetSort(ascending("finished_at", "_id")).SetLimit(int64(size)).
		SetProjection(projection("dag_uid", "epoch", "finished_at")))
	if len(waves) == size {
		end := waves[size-1]
		last = &position{*end.FinishedAt, end.ID}
	}
	return waves, last, err
}

// expendable returns the ids of those waves on which no epoch depends.
func (s *Store) expendable(ctx context.Context, waves []waveDocument) (ids []string, err error) {
	var uids []string
	for _, wave := range waves {
		uids = append(uids, wave.DAGUID)
	}
	slices.Sort(uids)
	uids = slices.Compact(uids)
	last, err := s.lastEpochs(ctx, uids)
	if err != nil {
		return nil, err
	}
	living, err := s.dags.documentsByUID(ctx, uids)
	if err != nil {
		return nil, err
	}
	for _, wave := range waves {
		there := slices.ContainsFunc(living, func(d definitionDocument) bool { return d.UID == wave.DAGUID })
		if wave.Epoch < max(last[wave.DAGUID], 1) || !there {
			ids = append(ids, wave.ID)
		}
	}
	return ids, nil
}
