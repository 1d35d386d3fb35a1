package sqlite

import (
	"context"
	"database/sql"

	"github.com/tidewheel/tidewheel/engine"
)

// documents reads a list of JSON documents.
func documents[T any](ctx context.Context, s *Store, query string, args ...any) ([]T, error) {
	return decoded(ctx, s, decode[T], query, args)
}

// runs reads a list of documents of runs.
func (s *Store) runs(ctx context.Context, query string, args ...any) ([]engine.Run, error) {
	return decoded(ctx, s, decodeRun, query, args)
}

// waves reads a list of documents of waves.
func (s *Store) waves(ctx context.Context, query string, args ...any) ([]engine.Wave, error) {
	return decoded(ctx, s, decodeWave, query, args)
}

// decoded reads a list of documents.
func decoded[T any](ctx context.Context, s *Store, decode func([]byte) (T, error), query string, args []any) (list []T, err error) {
	err = s.list(ctx, query, args, func(rows *sql.Rows) error {
		var document sql.RawBytes
		if err := rows.Scan(&document); err != nil {
			return err
		}
		one, err := decode(document)
		list = append(list, one)
		return err
	})
	return list, err
}

// among asks a query about a list of uids or ids, which is its only argument.
func among[T any](
	ctx context.Context, operation string, ids []string, ask func(ctx context.Context, query string, args ...any) ([]T, error), query string,
) ([]T, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := jsonList(ids)
	if err != nil {
		return nil, wrap(operation, err)
	}
	found, err := ask(ctx, query, list)
	return found, wrap(operation, err)
}

// decodeRuns appends active runs to a list.
func decodeRuns(list []engine.Run, runs []*runWrite) ([]engine.Run, error) {
	for _, write := range runs {
		run, err := decodeRun(write.doc)
		if err != nil {
			return nil, err
		}
		list = append(list, run)
	}
	return list, nil
}

// Run returns one run; engine.ErrNotFound.
func (s *Store) Run(ctx context.Context, id string) (engine.Run, error) {
	runs, err := s.runsByID(ctx, []string{id})
	if err == nil && len(runs) == 0 {
		err = engine.ErrNotFound
	}
	if err != nil {
		return engine.Run{}, wrap("run "+id, err)
	}
	return runs[0], nil
}

// RunsByID returns those runs that exist, in no order.
func (s *Store) RunsByID(ctx context.Context, ids []string) ([]engine.Run, error) {
	runs, err := s.runsByID(ctx, ids)
	return runs, wrap("runs by id", err)
}

// runsByID asks for what is active first: a run that ends in between is then found in one of both places.
func (s *Store) runsByID(ctx context.Context, ids []string) ([]engine.Run, error) {
	if err := s.readable(ctx); err != nil {
		return nil, err
	}
	var active []*runWrite
	var ended []string
	for _, id := range ids {
		if run := s.active.get(id); run != nil {
			active = append(active, run)
		} else {
			ended = append(ended, turned(id))
		}
	}
	runs, err := decodeRuns(nil, active)
	if err != nil || len(ended) == 0 {
		return runs, err
	}
	list, err := jsonList(ended)
	if err != nil {
		return nil, err
	}
	rest, err := s.runs(ctx, "SELECT r.doc FROM json_each(?) AS j CROSS JOIN runs_history AS r ON r.turned = j.value", list)
	return append(runs, rest...), err
}

// readable returns an error if nothing can be read from memory.
func (s *Store) readable(ctx context.Context) error {
	if err := s.refused(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// ActiveRuns returns runs of these shards that have not ended, with ids above after, in the order of their ids.
func (s *Store) ActiveRuns(ctx context.Context, shards []int, after string, limit int) ([]engine.Run, error) {
	if err := s.readable(ctx); err != nil {
		return nil, wrap("active runs", err)
	}
	runs, err := decodeRuns(nil, s.active.above(after, uint64(shardMask(shards)), limit))
	return runs, wrap("active runs", err)
}

// ActiveRunIDs returns the ids of runs of these shards that have not ended, those above after, in order.
func (s *Store) ActiveRunIDs(ctx context.Context, shards []int, after string, limit int) ([]string, error) {
	if err := s.readable(ctx); err != nil {
		return nil, wrap("ids of active runs", err)
	}
	runs := s.active.above(after, uint64(shardMask(shards)), limit)
	ids := make([]string, len(runs))
	for i, run := range runs {
		ids[i] = run.id
	}
	return ids, nil
}

// ActiveRunsOf returns all runs of these jobs that have not ended, in no order.
func (s *Store) ActiveRunsOf(ctx context.Context, uids []string) (runs []engine.Run, err error) {
	if err := s.readable(ctx); err != nil {
		return nil, wrap("active runs of jobs", err)
	}
	for _, uid := range uids {
		if runs, err = decodeRuns(runs, s.active.of(uid)); err != nil {
			return nil, wrap("active runs of jobs", err)
		}
	}
	return runs, nil
}
