package sqlite

import (
	"context"
	"database/sql/driver"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// expireAtOnce is how much goes in one transaction: those few milliseconds are what a commit waits at most.
const expireAtOnce = 50

// expire removes at most limit of something, a few at a time and while nothing else is to be written, and returns what is
// gone. After an error a few more may be.
func expire[T any](ctx context.Context, s *Store, limit int, remove func(w *writer, limit int) ([]T, error)) (removed []T, err error) {
	for len(removed) < limit {
		most := min(expireAtOnce, limit-len(removed))
		gone := make(chan []T, 1) // the writer may be at it yet when ctx has ended
		if err := s.writeIdle(ctx, most, func(w *writer) error {
			few, err := remove(w, most)
			gone <- few
			return err
		}); err != nil {
			return removed, err
		}
		few := <-gone
		if removed = append(removed, few...); len(few) < most {
			break
		}
	}
	return removed, nil
}

// ExpireRuns deletes at most limit runs of some shards that ended before an instant, those first that were made first.
// It looks at runs that were made before the instant: of these all have ended but those that ran or waited at it.
func (s *Store) ExpireRuns(ctx context.Context, shards []int, before time.Time, limit int) (expired engine.ExpiredRuns, err error) {
	expired.Beside, err = expire(ctx, s, limit, func(w *writer, limit int) ([]engine.Run, error) {
		return w.expireRuns(shards, before, limit)
	})
	for i := range expired.Beside {
		expired.Count, expired.Upto = i+1, expired.Beside[i].FinishedAt
	}
	if err != nil {
		return expired, wrap("expire runs", err)
	}
	return expired, nil
}

// expireCounted is expire for what nobody asks for by name: query deletes some before an instant.
func (s *Store) expireCounted(ctx context.Context, before time.Time, limit int, query string) (removed int, err error) {
	gone, err := expire(ctx, s, limit, func(w *writer, limit int) ([]struct{}, error) {
		changed, err := w.exec(query, always(before), limit)
		return make([]struct{}, changed), err
	})
	return len(gone), err
}

func (w *writer) expireRuns(shards []int, before time.Time, limit int) (runs []engine.Run, err error) {
	var namespaces []string
	err = w.query("SELECT namespace FROM run_namespaces", nil, func(values []driver.Value) error {
		namespace, _ := values[0].(string)
		namespaces = append(namespaces, namespace)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var rows, goOn []int64
	for _, namespace := range namespaces {
		most := int64(limit - len(rows))
		if len(shards) < engine.Shards { // never so: there is one engine. Those of other shards are looked at and left.
			most = -1
		}
		err := w.query(`SELECT r.rowid, r.doc FROM runs_history AS r INDEXED BY runs_history_created
			WHERE r.namespace = ? AND r.created_at < ? AND r.finished_at < ? ORDER BY r.created_at, r.id LIMIT ?`,
			[]any{namespace, always(before), always(before), most},
			func(values []driver.Value) error {
				document, _ := values[1].([]byte)
				row, _ := values[0].(int64)
				run, err := decodeRun(document)
				if err != nil || len(rows) == limit || !slices.Contains(shards, run.Shard) {
					return err
				}
				if w.log.get(run.ID) != nil {
					goOn = append(goOn, row)
				} else {
					runs, rows = append(runs, run), append(rows, row)
				}
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	for _, row := range goOn { // these are not found again until they end
		if _, err := w.exec("UPDATE runs_history SET finished_at = NULL WHERE rowid = ?", row); err != nil {
			return nil, err
		}
	}
	for _, row := range rows {
		if _, err := w.exec("DELETE FROM runs_history WHERE rowid = ?", row); err != nil {
			return nil, err
		}
	}
	return runs, nil
}
