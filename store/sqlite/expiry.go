package sqlite

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// ExpireRuns deletes at most limit runs that ended before an instant, those first that were made first, and gives them.
// It looks at runs that were made before the instant: of these all have ended but those that ran or waited at it.
func (s *Store) ExpireRuns(ctx context.Context, before time.Time, limit int) ([]engine.Run, error) {
	var deleted []engine.Run
	err := s.write(ctx, 4*limit, func(w *writer) error {
		var namespaces []string
		err := w.query("SELECT namespace FROM run_namespaces", nil, func(values []driver.Value) error {
			namespace, _ := values[0].(string)
			namespaces = append(namespaces, namespace)
			return nil
		})
		if err != nil {
			return err
		}
		var runs []engine.Run
		var rows []int64
		for _, namespace := range namespaces {
			err := w.query(`SELECT r.rowid, r.doc FROM runs_history AS r INDEXED BY runs_history_created
				WHERE r.namespace = ? AND r.created_at < ? AND r.finished_at < ? ORDER BY r.created_at, r.id LIMIT ?`,
				[]any{namespace, always(before), always(before), int64(limit - len(rows))},
				func(values []driver.Value) error {
					document, _ := values[1].([]byte)
					run, err := decodeRun(document)
					row, _ := values[0].(int64)
					runs, rows = append(runs, run), append(rows, row)
					return err
				})
			if err != nil {
				return err
			}
		}
		for _, row := range rows {
			if _, err := w.exec("DELETE FROM runs_history WHERE rowid = ?", row); err != nil {
				return err
			}
		}
		deleted = runs
		return nil
	})
	if err != nil {
		return nil, wrap("expire runs", err)
	}
	return deleted, nil
}
