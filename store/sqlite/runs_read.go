package sqlite

import (
	"context"
	"database/sql"

	"github.com/tidewheel/tidewheel/engine"
)

// documents reads a list of JSON documents.
func documents[T any](ctx context.Context, s *Store, query string, args ...any) (list []T, err error) {
	err = s.list(ctx, query, args, func(rows *sql.Rows) error {
		var document sql.RawBytes
		if err := rows.Scan(&document); err != nil {
			return err
		}
		v, err := decode[T](document)
		list = append(list, v)
		return err
	})
	return list, err
}

// runs reads a list of documents of runs.
func (s *Store) runs(ctx context.Context, query string, args ...any) (list []engine.Run, err error) {
	err = s.list(ctx, query, args, func(rows *sql.Rows) error {
		var document sql.RawBytes
		if err := rows.Scan(&document); err != nil {
			return err
		}
		run, err := decodeRun(document)
		list = append(list, run)
		return err
	})
	return list, err
}

// Run gives one run; engine.ErrNotFound.
func (s *Store) Run(ctx context.Context, id string) (engine.Run, error) {
	runs, err := s.runs(ctx, oneRun, id, id)
	if err == nil && len(runs) == 0 {
		err = engine.ErrNotFound
	}
	if err != nil {
		return engine.Run{}, wrap("run "+id, err)
	}
	return runs[0], nil
}

// RunsByID gives those runs that exist, in no order.
func (s *Store) RunsByID(ctx context.Context, ids []string) ([]engine.Run, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := jsonList(ids)
	if err != nil {
		return nil, wrap("runs by id", err)
	}
	runs, err := s.runs(ctx, `SELECT r.doc FROM json_each(?) AS j CROSS JOIN runs_active AS r ON r.id = j.value
		UNION ALL SELECT r.doc FROM json_each(?) AS j CROSS JOIN runs_history AS r ON r.id = j.value`, list, list)
	return runs, wrap("runs by id", err)
}

// ActiveRuns gives runs of these shards that have not ended, with ids above after, in the order of their ids.
func (s *Store) ActiveRuns(ctx context.Context, shards []int, after string, limit int) ([]engine.Run, error) {
	runs, err := s.runs(ctx, "SELECT doc FROM runs_active WHERE id > ? AND (? >> shard) & 1 ORDER BY id LIMIT ?", after, shardMask(shards), limit)
	return runs, wrap("active runs", err)
}

// ActiveRunsOf gives all runs of these jobs that have not ended, in no order.
func (s *Store) ActiveRunsOf(ctx context.Context, uids []string) ([]engine.Run, error) {
	if len(uids) == 0 {
		return nil, nil
	}
	list, err := jsonList(uids)
	if err != nil {
		return nil, wrap("active runs of jobs", err)
	}
	// '.' follows '-': all ids that begin with the uid and '-'.
	runs, err := s.runs(ctx, `SELECT r.doc FROM json_each(?) AS j CROSS JOIN runs_active AS r
		ON r.id > j.value || '-' AND r.id < j.value || '.'`, list)
	return runs, wrap("active runs of jobs", err)
}
