package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Both are answered by an index alone, and look at no more entries than they are allowed to.
const (
	tallyStatusQuery = `SELECT COUNT(*) FROM (SELECT 1 FROM runs_history INDEXED BY runs_history_status
		WHERE namespace = ? AND status = ? AND status <> 5 AND created_at >= ? AND created_at < ? LIMIT ?)`
	tallySucceededQuery = `SELECT status = 5, COUNT(*) FROM (SELECT status FROM runs_history INDEXED BY runs_history_created
		WHERE namespace = ? AND created_at >= ? AND created_at < ? LIMIT ?) GROUP BY 1`
	tallyTwiceQuery = `SELECT r.status FROM json_each(?) AS j CROSS JOIN runs_history AS r ON r.turned = j.value`
)

// Tallies counts the runs of a namespace that were made within each window.
func (s *Store) Tallies(ctx context.Context, namespace string, windows []engine.Window, limit int) (all []engine.Tallies, err error) {
	if err := s.readable(ctx); err != nil {
		return nil, wrap("count runs", err)
	}
	all = make([]engine.Tallies, len(windows))
	again := make([][]string, len(windows))
	for i, w := range windows {
		since, until := window(w.From, w.Until)
		again[i] = s.active.tally(&all[i], namespace, since, until, limit)
	}
	err = s.moment(ctx, func(ctx context.Context, reader *snapshot) error {
		for i, w := range windows {
			since, until := window(w.From, w.Until)
			if err := reader.tally(ctx, &all[i], namespace, since, until, again[i], limit); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, wrap("count runs", err)
	}
	return all, nil
}

// tally adds the runs that have ended. Those that are resumed after they have ended are in history too, and counted already.
func (s *snapshot) tally(ctx context.Context, into *engine.Tallies, namespace string, since, until int64, again []string, limit int) error {
	var twice engine.Tallies
	if len(again) > 0 {
		list, err := jsonList(again)
		if err != nil {
			return err
		}
		err = s.list(ctx, tallyTwiceQuery, []any{list}, func(rows *sql.Rows) error {
			var status engine.Status
			err := rows.Scan(&status)
			twice[status].N++
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, status := range engine.Statuses() {
		if !status.Terminal() || status == engine.StatusSucceeded {
			continue
		}
		most := limit + twice[status].N
		err := s.list(ctx, tallyStatusQuery, []any{namespace, int64(status), since, until, int64(most) + 1}, func(rows *sql.Rows) error {
			var n int
			err := rows.Scan(&n)
			into[status] = engine.Tally{N: min(n, most) - twice[status].N, More: n > most}
			return err
		})
		if err != nil {
			return err
		}
	}
	succeeded, others := 0, 0
	err := s.list(ctx, tallySucceededQuery, []any{namespace, since, until, int64(limit) + 1}, func(rows *sql.Rows) error {
		var is bool
		var n int
		err := rows.Scan(&is, &n)
		if is {
			succeeded = n
		} else {
			others = n
		}
		return err
	})
	into[engine.StatusSucceeded] = engine.Tally{N: min(succeeded, limit), More: succeeded+others > limit}
	return err
}

// tally counts the runs that have not ended, and returns the ids, turned, of those that may have ended before.
func (a *activeRuns) tally(into *engine.Tallies, namespace string, since, until int64, limit int) (again []string) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	// Those that run are found behind any number of queued ones.
	for list, counts := range map[*sortedRuns]func(*runWrite) bool{
		&a.started: func(*runWrite) bool { return true },
		&a.newest:  func(run *runWrite) bool { return !run.hasStarted() },
	} {
		looked := 0
		list.descend(&runWrite{createdAt: until}, func(run *runWrite) bool {
			if run.createdAt < since {
				return false
			}
			if looked++; looked > lookedAtOnce {
				into[engine.StatusScheduled].More, into[engine.StatusQueued].More = true, true
				return false
			}
			if run.namespace != namespace || !counts(run) {
				return true
			}
			if tally := &into[run.status]; tally.N < limit {
				tally.N++
			} else {
				tally.More = true
			}
			again = append(again, turned(run.id))
			return true
		})
	}
	return again
}

// RecentSlots lists ledger entries of a namespace that end at or after an instant, the latest end first.
func (s *Store) RecentSlots(ctx context.Context, namespace string, since time.Time, limit int) (recent []engine.SlotRange, err error) {
	// Few have a namespace other than the one asked for: it is not in the index.
	entries, err := documents[engine.SlotRange](ctx, s, `SELECT doc FROM slots INDEXED BY slots_to
		WHERE to_at >= ? ORDER BY to_at DESC, id DESC LIMIT ?`, always(since), int64(scanRows))
	if err != nil {
		return nil, wrap("list recent slots", err)
	}
	for _, entry := range entries {
		if entry.Namespace == namespace && len(recent) < limit {
			recent = append(recent, entry)
		}
	}
	return recent, nil
}
