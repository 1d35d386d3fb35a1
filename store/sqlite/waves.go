package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Wave returns one wave; engine.ErrNotFound.
func (s *Store) Wave(ctx context.Context, id string) (engine.Wave, error) {
	found, err := s.waves(ctx, "SELECT doc FROM waves WHERE id = ?", id)
	if err == nil && len(found) == 0 {
		err = engine.ErrNotFound
	}
	if err != nil {
		return engine.Wave{}, wrap("wave "+id, err)
	}
	return found[0], nil
}

const (
	wavesByIDQuery  = "SELECT w.doc FROM json_each(?) AS j CROSS JOIN waves AS w ON w.id = j.value"
	openWavesQuery  = "SELECT doc FROM waves INDEXED BY waves_open WHERE status < 5 AND id > ? AND (? >> shard) & 1 ORDER BY id LIMIT ?"
	openOfQuery     = "SELECT w.doc FROM json_each(?) AS j CROSS JOIN waves AS w INDEXED BY waves_open ON w.status < 5 AND w.id > j.value || '-' AND w.id < j.value || '.'"
	lastEpochsQuery = "SELECT j.value, (SELECT max(epoch) FROM waves INDEXED BY waves_epoch WHERE dag_uid = j.value) FROM json_each(?) AS j"
)

// WavesByID returns those waves that exist, in no order.
func (s *Store) WavesByID(ctx context.Context, ids []string) ([]engine.Wave, error) {
	return among(ctx, "waves by id", ids, s.waves, wavesByIDQuery)
}

// OpenWavesOf returns all waves of these DAGs that are scheduled or running, in no order.
func (s *Store) OpenWavesOf(ctx context.Context, dagUIDs []string) ([]engine.Wave, error) {
	return among(ctx, "open waves of DAGs", dagUIDs, s.waves, openOfQuery)
}

// OpenWaves returns waves of these shards that are scheduled or running, with ids above after, in the order of their ids.
func (s *Store) OpenWaves(ctx context.Context, shards []int, after string, limit int) ([]engine.Wave, error) {
	waves, err := s.waves(ctx, openWavesQuery, after, shardMask(shards), limit)
	return waves, wrap("open waves", err)
}

// LastEpochs returns the highest epoch that any wave of each DAG has.
func (s *Store) LastEpochs(ctx context.Context, dagUIDs []string) (map[string]int64, error) {
	list, err := jsonList(dagUIDs)
	if err != nil {
		return nil, wrap("last epochs", err)
	}
	last := map[string]int64{}
	err = s.list(ctx, lastEpochsQuery, []any{list}, func(rows *sql.Rows) error {
		var uid string
		var epoch sql.NullInt64
		err := rows.Scan(&uid, &epoch)
		if epoch.Int64 > 0 {
			last[uid] = epoch.Int64
		}
		return err
	})
	return last, wrap("last epochs", err)
}

// Waves lists waves, the latest created first. A page may be shorter than the limit although more follows: next shows that.
func (s *Store) Waves(ctx context.Context, filter engine.WaveFilter) (waves []engine.Wave, next string, err error) {
	cursor, given, err := engine.DecodeCursor("waves", filter.Cursor)
	if err != nil {
		return nil, "", wrap("list waves", err)
	}
	from := newest
	if given {
		from = key{at: always(cursor.At), id: cursor.ID}
	}
	if err := s.readable(ctx); err != nil {
		return nil, "", wrap("list waves", err)
	}
	found, horizon, err := s.lookAtWaves(ctx, &filter, from)
	if err != nil {
		return nil, "", wrap("list waves", err)
	}
	found, horizon, more := merge(found, horizon, filter.Limit)
	for _, one := range found {
		wave, err := decodeWave(one.doc)
		if err != nil {
			return nil, "", wrap("list waves", err)
		}
		waves = append(waves, wave)
	}
	if more {
		next = engine.Cursor{At: time.UnixMilli(horizon.at), ID: horizon.id}.Encode("waves")
	}
	return waves, next, nil
}

func (s *Store) lookAtWaves(ctx context.Context, filter *engine.WaveFilter, from key) (found []keyedRun, horizon key, err error) {
	err = s.moment(ctx, func(ctx context.Context, reader *snapshot) error {
		ranges, err := reader.waveRanges(ctx, filter)
		if err != nil {
			return err
		}
		bounds := &engine.RunFilter{Since: filter.Since, Until: filter.Until, Limit: filter.Limit}
		found, horizon, err = reader.lookAll(ctx, ranges, bounds, from)
		return err
	})
	return found, horizon, err
}

// waveRanges chooses the indexes by what a filter asks for.
func (s *snapshot) waveRanges(ctx context.Context, filter *engine.WaveFilter) (ranges []historyRange, err error) {
	if filter.DAGUID != "" {
		r := historyRange{table: "waves", index: "waves_dag"}
		r.fixed.add("dag_uid = ?", filter.DAGUID)
		r.pickStatuses(filter.Statuses)
		if filter.Namespace != "" {
			r.pickRow("r.namespace = ?", filter.Namespace)
		}
		return []historyRange{r}, nil
	}
	namespaces := []string{filter.Namespace}
	if filter.Namespace == "" {
		if namespaces, err = s.texts(ctx, "SELECT namespace FROM run_namespaces"); err != nil {
			return nil, err
		}
	}
	for _, namespace := range namespaces {
		r := historyRange{table: "waves", index: "waves_created"}
		r.fixed.add("namespace = ?", namespace)
		r.pickStatuses(filter.Statuses)
		ranges = append(ranges, r)
	}
	return ranges, nil
}

// runsOfWaveQuery reads a range of the key: runs of tasks stand under their ids.
const runsOfWaveQuery = "SELECT doc FROM runs_history WHERE turned > ? AND turned < ? ORDER BY turned LIMIT ?"

// RunsOfWave returns runs of a wave, ended or not, with ids above after, in the order of their ids. What is active is asked
// first: a run that ends in between is then found twice, not never, and counts as it was.
func (s *Store) RunsOfWave(ctx context.Context, wave, after string, limit int) (runs []engine.Run, err error) {
	if err := s.readable(ctx); err != nil {
		return nil, wrap("runs of wave "+wave, err)
	}
	for _, ids := range engine.WaveRunIDs(wave) {
		from, room := max(ids[0], after), limit-len(runs)
		if from >= ids[1] || room <= 0 {
			continue
		}
		some, err := decodeRuns(nil, s.active.between(from, ids[1], room))
		if err != nil {
			return nil, wrap("runs of wave "+wave, err)
		}
		ended, err := s.runs(ctx, runsOfWaveQuery, from, ids[1], room)
		if err != nil {
			return nil, wrap("runs of wave "+wave, err)
		}
		some = append(some, ended...)
		slices.SortStableFunc(some, func(a, b engine.Run) int { return strings.Compare(a.ID, b.ID) })
		some = slices.CompactFunc(some, func(a, b engine.Run) bool { return a.ID == b.ID })
		runs = append(runs, some[:min(room, len(some))]...)
	}
	return runs, nil
}
