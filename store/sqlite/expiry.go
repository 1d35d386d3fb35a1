package sqlite

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// ExpireRuns deletes at most limit runs that ended before an instant, the earliest first, and gives them.
func (s *Store) ExpireRuns(ctx context.Context, before time.Time, limit int) ([]engine.Run, error) {
	var deleted []engine.Run
	err := s.write(ctx, 4*limit, func(w *writer) error {
		var runs []engine.Run
		var rows []int64
		err := w.query("SELECT rowid, doc FROM runs_history WHERE finished_at < ? ORDER BY finished_at LIMIT ?", []any{always(before), limit},
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
