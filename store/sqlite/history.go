package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// key is a place in history.
type key struct {
	at int64
	id string
}

// newer orders keys as history does: the newest first.
func (k key) newer(other key) int {
	return cmp.Or(cmp.Compare(other.at, k.at), cmp.Compare(other.id, k.id))
}

// first is the one of two keys that comes first in history.
func (k key) first(other key) key {
	if other.newer(k) < 0 {
		return other
	}
	return k
}

var (
	newest = key{at: math.MaxInt64}
	oldest = key{at: math.MinInt64}
)

type keyedRun struct {
	key
	doc    []byte
	active bool
}

// Runs lists history, newest first. A page may be shorter than the limit although more follows: next shows that.
func (s *Store) Runs(ctx context.Context, filter engine.RunFilter) (runs []engine.Run, next string, err error) {
	runs, next, err = s.history(ctx, &filter)
	return runs, next, wrap("list runs", err)
}

// history merges what is active with what stands in several ranges of indexes, these all seen at one moment. Each is
// looked at down to a horizon of its own; what lies beyond the first of these has to wait for the next page.
func (s *Store) history(ctx context.Context, filter *engine.RunFilter) (runs []engine.Run, next string, err error) {
	from := newest
	cursor, given, err := engine.DecodeCursor("runs", filter.Cursor)
	if err != nil {
		return nil, "", err
	}
	if given {
		from = key{at: always(cursor.At), id: cursor.ID}
	}
	if err := s.readable(ctx); err != nil {
		return nil, "", err
	}
	filters, err := s.byUID(ctx, filter)
	if err != nil {
		return nil, "", err
	}
	// What is active comes first: a run that ends in between is then found twice, not never.
	found, horizon := s.lookActive(filters, from)
	err = s.moment(ctx, func(ctx context.Context, reader *snapshot) error {
		for _, one := range filters {
			ranges, err := reader.ranges(ctx, one)
			if err != nil {
				return err
			}
			some, end, err := reader.lookAll(ctx, ranges, one, from)
			if err != nil {
				return err
			}
			found, horizon = append(found, some...), horizon.first(end)
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	found, horizon, more := merge(found, horizon, filter.Limit)
	pick := newPicker(filter)
	for _, run := range found {
		// One that is resumed after it has ended is still in history, as it was.
		if now := s.active.get(run.id); now != nil && !run.active {
			if !pick.picks(now) {
				continue
			}
			run.doc = now.doc
		}
		decoded, err := decodeRun(run.doc)
		if err != nil {
			return nil, "", err
		}
		runs = append(runs, decoded)
	}
	if more {
		next = engine.Cursor{At: time.UnixMilli(horizon.at), ID: horizon.id}.Encode("runs")
	}
	return runs, next, nil
}

// merge puts what stands in several ranges into the order of history, down to the horizon, and cuts it at limit. It
// gives where the next page begins, and whether there may be more.
func merge(found []keyedRun, horizon key, limit int) (page []keyedRun, end key, more bool) {
	slices.SortStableFunc(found, func(a, b keyedRun) int { return a.newer(b.key) })
	found = slices.CompactFunc(found, func(a, b keyedRun) bool { return a.key == b.key })
	beyond, _ := slices.BinarySearchFunc(found, horizon, func(run keyedRun, horizon key) int {
		if run.newer(horizon) <= 0 {
			return -1
		}
		return 1
	})
	more = horizon != oldest
	if found = found[:beyond]; len(found) > limit {
		found, more = found[:limit], true
		horizon = found[limit-1].key
	}
	return found, horizon, more
}

// byUID makes of a filter by name one for each job or DAG that has had it: it has one name all its life.
func (s *Store) byUID(ctx context.Context, filter *engine.RunFilter) (filters []*engine.RunFilter, err error) {
	owner, possible := filter.Owner()
	if !possible || filter.Job != "" && filter.DAG != "" { // a run is of one thing
		return nil, nil
	}
	plain := *filter
	plain.JobUID, plain.DAGUID = owner, ""
	var query string
	var args []any
	switch {
	case filter.DAG != "":
		plain.DAG = ""
		query, args = "SELECT DISTINCT dag_uid FROM run_dags WHERE dag = ? AND (? = '' OR dag_uid = ?)", []any{filter.DAG, owner, owner}
	case filter.Job != "" && owner == "":
		plain.Job = ""
		query, args = "SELECT DISTINCT job_uid FROM run_names WHERE job = ?", []any{filter.Job}
	default:
		return []*engine.RunFilter{&plain}, nil
	}
	err = s.list(ctx, query, args, func(rows *sql.Rows) error {
		one := plain
		err := rows.Scan(&one.JobUID)
		filters = append(filters, &one)
		return err
	})
	return filters, err
}

// lookActive returns what filters pick of the runs that have not ended, and how far it has looked.
func (s *Store) lookActive(filters []*engine.RunFilter, from key) (found []keyedRun, horizon key) {
	horizon = oldest
	for _, filter := range filters {
		if len(filter.Statuses) > 0 && !slices.ContainsFunc(filter.Statuses, func(status engine.Status) bool { return !status.Terminal() }) {
			continue
		}
		some, end := s.active.look(filter, from)
		for _, run := range some {
			found = append(found, keyedRun{key: run.place(), doc: run.doc, active: true})
		}
		horizon = horizon.first(end)
	}
	return found, horizon
}

// lookAll looks at several ranges, and returns how far it has looked at all of them.
func (s *snapshot) lookAll(ctx context.Context, ranges []historyRange, filter *engine.RunFilter, from key) (found []keyedRun, horizon key, err error) {
	horizon = oldest
	for i := range ranges {
		some, end, err := s.look(ctx, &ranges[i], filter, from)
		if err != nil {
			return nil, horizon, err
		}
		found, horizon = append(found, some...), horizon.first(end)
	}
	return found, horizon, nil
}

// look returns the first runs of a range after from that the filter picks, one more than its limit at most, and how far
// it has looked: oldest if the range has no more.
func (s *snapshot) look(ctx context.Context, r *historyRange, filter *engine.RunFilter, from key) (found []keyedRun, end key, err error) {
	query, args := r.query(filter, from)
	err = s.list(ctx, query, args, func(rows *sql.Rows) error {
		var run keyedRun
		err := rows.Scan(&run.at, &run.id, &run.doc)
		found = append(found, run)
		return err
	})
	switch {
	case err != nil:
		return nil, end, err
	case len(found) > filter.Limit:
		return found, found[len(found)-1].key, nil
	case r.scan == 0:
		return found, oldest, nil
	}
	end = oldest
	query, args = r.endQuery(filter, from)
	err = s.list(ctx, query, args, func(rows *sql.Rows) error { return rows.Scan(&end.at, &end.id) })
	return found, end, err
}
