package sqlite

import (
	"context"
	"database/sql/driver"
	"slices"
	"strings"
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

// narrowed is the condition that an expiry adds to its instants, with its arguments: of which namespaces and of which jobs and
// DAGs. namespace and uid are the expressions for these.
func narrowed(what *engine.Expiry, namespace, uid string) (condition string, args []any, err error) {
	var all strings.Builder
	add := func(test string, list []string) {
		if err != nil || len(list) == 0 {
			return
		}
		var text string
		text, err = jsonList(list)
		all.WriteString(" AND " + test + " (SELECT value FROM json_each(?))")
		args = append(args, text)
	}
	add(namespace+" IN", what.Namespaces)
	add(namespace+" NOT IN", what.Except)
	add(uid+" NOT IN", what.Longer)
	return all.String(), args, err
}

// uidOf is the expression for the uid that an id begins with.
func uidOf(id string) string { return "substr(" + id + ", 1, instr(" + id + " || '-', '-') - 1)" }

// from is the instant from which an expiry looks.
func from(what *engine.Expiry) int64 {
	if what.From.IsZero() {
		return 0
	}
	return always(what.From)
}

// ExpireRuns deletes at most limit runs of some shards that an expiry takes, those first that were made first. It looks at runs
// that were made before the instant: of these all have ended but those that ran or waited at it.
func (s *Store) ExpireRuns(ctx context.Context, shards []int, what engine.Expiry, limit int) (expired engine.ExpiredRuns, err error) {
	if what.All() {
		expired.Beside, err = expire(ctx, s, limit, func(w *writer, limit int) ([]engine.Run, error) {
			return w.expireRuns(shards, what.Before, limit)
		})
	} else {
		expired.Beside, err = s.expireSome(ctx, shards, &what, limit)
	}
	expired = expiredRuns(expired.Beside)
	if err == nil && expired.Count == 0 {
		expired.Done = what.Before
	}
	return expired, wrap("expire runs", err)
}

func expiredRuns(runs []engine.Run) (expired engine.ExpiredRuns) {
	expired.Beside, expired.Count = runs, len(runs)
	if len(runs) > 0 {
		expired.Upto = runs[len(runs)-1].FinishedAt
	}
	return expired
}

// longRun is how long before an instant a run may have been made that ended after it, as far as expireSome looks. One that was
// made earlier is found when it looks at all.
const longRun = 24 * time.Hour

// expireSome is for an expiry that leaves runs in between. They are looked for by a reader, so that no commit waits for it.
func (s *Store) expireSome(ctx context.Context, shards []int, what *engine.Expiry, limit int) (runs []engine.Run, err error) {
	condition, args, err := narrowed(what, "namespace", uidOf("id"))
	if err != nil {
		return nil, err
	}
	namespaces := what.Namespaces
	if len(namespaces) == 0 {
		if namespaces, err = s.texts(ctx, "SELECT namespace FROM run_namespaces"); err != nil {
			return nil, err
		}
	}
	for _, namespace := range namespaces {
		var ids []string
		given := append([]any{namespace, from(what) - longRun.Milliseconds(), always(what.Before), from(what), always(what.Before)}, args...)
		ids, err = s.texts(ctx, "SELECT id FROM runs_history INDEXED BY runs_history_created WHERE namespace = ? AND created_at >= ?"+
			" AND created_at < ? AND finished_at >= ? AND finished_at < ?"+condition+" ORDER BY created_at, id LIMIT ?", append(given, int64(limit-len(runs)))...)
		if err != nil {
			return runs, err
		}
		gone, err := s.deleteEnded(ctx, ids, func(run *engine.Run) bool {
			return run.FinishedAt.Before(what.Before) && slices.Contains(shards, run.Shard)
		})
		if runs = append(runs, gone...); err != nil || len(runs) >= limit {
			return runs, err
		}
	}
	return runs, nil
}

// texts returns the first column of a query.
func (s *Store) texts(ctx context.Context, query string, args ...any) (texts []string, err error) {
	err = s.read(ctx, func(ctx context.Context, r *reader) error {
		texts, err = r.texts(ctx, query, args...)
		return err
	})
	return texts, err
}

// deleteEnded deletes those of some runs that have ended and that a condition holds for, a few at a time.
func (s *Store) deleteEnded(ctx context.Context, ids []string, still func(run *engine.Run) bool) (runs []engine.Run, err error) {
	for few := range slices.Chunk(ids, expireAtOnce) {
		gone := make(chan []engine.Run, 1)
		if err := s.writeIdle(ctx, len(few), func(w *writer) error {
			deleted, err := w.deleteEnded(few, still)
			gone <- deleted
			return err
		}); err != nil {
			return runs, err
		}
		runs = append(runs, <-gone...)
	}
	return runs, nil
}

func (w *writer) deleteEnded(ids []string, still func(run *engine.Run) bool) (runs []engine.Run, err error) {
	for _, id := range ids {
		if w.log.get(id) != nil {
			continue // it is active
		}
		var found []engine.Run
		if err := w.query(endedRun, []any{turned(id)}, func(values []driver.Value) error {
			document, _ := values[0].([]byte)
			run, err := decodeRun(document)
			found = append(found, run)
			return err
		}); err != nil {
			return nil, err
		}
		if len(found) == 0 || !still(&found[0]) {
			continue
		}
		if _, err := w.exec(deleteHistory, turned(id)); err != nil {
			return nil, err
		}
		runs = append(runs, found[0])
	}
	return runs, nil
}

// ExpireRunsOf deletes at most limit runs of a job that its own retention takes.
func (s *Store) ExpireRunsOf(ctx context.Context, uid string, what engine.OwnExpiry, limit int) (engine.ExpiredRuns, error) {
	var ids []string
	if what.Newest > 0 {
		old, err := s.texts(ctx, `SELECT id FROM (SELECT id, finished_at FROM runs_history INDEXED BY runs_history_job WHERE job_uid = ?
			ORDER BY created_at DESC, id DESC LIMIT -1 OFFSET ?) WHERE finished_at < ? LIMIT ?`, uid, int64(what.Newest), always(what.Settled), int64(limit))
		if err != nil {
			return engine.ExpiredRuns{}, wrap("expire runs of "+uid, err)
		}
		ids = old
	}
	if len(ids) < limit && !what.Before.IsZero() {
		old, err := s.texts(ctx, `SELECT id FROM runs_history INDEXED BY runs_history_job WHERE job_uid = ? AND created_at < ? AND finished_at < ?
			ORDER BY created_at, id LIMIT ?`, uid, always(what.Before), always(what.Before), int64(limit-len(ids)))
		if err != nil {
			return engine.ExpiredRuns{}, wrap("expire runs of "+uid, err)
		}
		ids = append(ids, old...)
	}
	runs, err := s.deleteEnded(ctx, ids, func(run *engine.Run) bool {
		return run.FinishedAt.Before(what.Before) || what.Newest > 0 && run.FinishedAt.Before(what.Settled)
	})
	return expiredRuns(runs), wrap("expire runs of "+uid, err)
}

// expireCounted is expire for documents that are not read by name: query deletes some by its arguments and a limit.
func (s *Store) expireCounted(ctx context.Context, limit int, query string, args ...any) (removed int, err error) {
	gone, err := expire(ctx, s, limit, func(w *writer, limit int) ([]struct{}, error) {
		changed, err := w.exec(query, append(slices.Clone(args), limit)...)
		return make([]struct{}, changed), err
	})
	return len(gone), err
}

// ExpireSlots deletes at most limit ledger entries whose To an expiry takes, the earliest first.
func (s *Store) ExpireSlots(ctx context.Context, what engine.Expiry, limit int) (deleted int, err error) {
	condition, args, err := narrowed(&what, "json_extract(doc, '$.namespace')", uidOf("job_uid"))
	if err == nil {
		deleted, err = s.expireCounted(ctx, limit, "DELETE FROM slots WHERE rowid IN (SELECT rowid FROM slots INDEXED BY slots_to"+
			" WHERE to_at < ? AND to_at >= ?"+condition+" ORDER BY to_at LIMIT ?)", append([]any{always(what.Before), from(&what)}, args...)...)
	}
	return deleted, wrap("expire slots", err)
}

// ExpireDeadLetters deletes at most limit dead letters that an expiry takes, by when they were written. It goes from namespace
// to namespace, as their index does.
func (s *Store) ExpireDeadLetters(ctx context.Context, what engine.Expiry, limit int) (deleted int, err error) {
	condition, args, err := narrowed(&what, "l.namespace", uidOf("l.run_id"))
	if err == nil {
		deleted, err = s.expireCounted(ctx, limit, `DELETE FROM dead_letters WHERE run_id IN (
			WITH RECURSIVE namespaces(name) AS (
				SELECT min(namespace) FROM dead_letters
				UNION ALL SELECT (SELECT min(namespace) FROM dead_letters WHERE namespace > name) FROM namespaces WHERE name IS NOT NULL)
			SELECT l.run_id FROM namespaces CROSS JOIN dead_letters AS l INDEXED BY dead_letters_at
			ON l.namespace = namespaces.name AND l.at < ? AND l.at >= ?`+condition+` LIMIT ?)`,
			append([]any{always(what.Before), from(&what)}, args...)...)
	}
	return deleted, wrap("expire dead letters", err)
}

// ExpireWaves deletes at most limit waves that an expiry takes, the earliest first.
func (s *Store) ExpireWaves(ctx context.Context, what engine.Expiry, limit int) (deleted int, err error) {
	condition, args, err := narrowed(&what, "w.namespace", "w.dag_uid")
	if err == nil {
		deleted, err = s.expireCounted(ctx, limit, "DELETE FROM waves WHERE rowid IN ("+expiringWaves(condition)+")",
			append([]any{always(what.Before), from(&what)}, args...)...)
	}
	return deleted, wrap("expire waves", err)
}

// expiringWaves is the query for waves that an expiry takes, by what it adds to the instants. A wave is kept while it has the
// highest epoch of a DAG that is there: epochs count on from it.
func expiringWaves(condition string) string {
	return `SELECT w.rowid FROM waves AS w INDEXED BY waves_finished WHERE w.status >= 5 AND w.finished_at < ? AND w.finished_at >= ?` + condition + `
		AND (w.epoch < max(1, (SELECT max(epoch) FROM waves INDEXED BY waves_epoch WHERE dag_uid = w.dag_uid))
			OR NOT EXISTS (SELECT 1 FROM dags WHERE uid = w.dag_uid))
		ORDER BY w.finished_at LIMIT ?`
}

// ExpireWavesOf deletes at most limit waves of a DAG that its own retention takes, with their runs. The wave of the highest
// epoch stays. A wave goes after its runs, so that a crash in between leaves nothing that is not found again.
func (s *Store) ExpireWavesOf(ctx context.Context, uid string, what engine.OwnExpiry, limit int) (expired engine.ExpiredWaves, err error) {
	newest := int64(what.Newest)
	if newest == 0 {
		newest = 1 << 62
	}
	waves, err := s.texts(ctx, `SELECT id FROM (
			SELECT id, epoch, finished_at, row_number() OVER (ORDER BY created_at DESC, id DESC) AS place
			FROM waves INDEXED BY waves_dag WHERE dag_uid = ? AND status >= 5)
		WHERE (finished_at < ? OR place > ? AND finished_at < ?)
			AND epoch < max(1, (SELECT max(epoch) FROM waves INDEXED BY waves_epoch WHERE dag_uid = ?))
		ORDER BY place DESC LIMIT ?`, uid, always(what.Before), newest, always(what.Settled), uid, int64(limit))
	for _, wave := range waves {
		if err != nil {
			break
		}
		err = s.expireWave(ctx, wave, &expired)
	}
	return expired, wrap("expire waves of "+uid, err)
}

// expireWave deletes a wave that has ended, and its runs before it.
func (s *Store) expireWave(ctx context.Context, wave string, expired *engine.ExpiredWaves) error {
	const some = 500
	for _, ids := range engine.WaveRunIDs(wave) {
		for ids[0] < ids[1] {
			runs, err := s.texts(ctx, "SELECT turned FROM runs_history WHERE turned > ? AND turned < ? ORDER BY turned LIMIT ?", ids[0], ids[1], int64(some))
			if err != nil {
				return err
			}
			gone, err := s.deleteEnded(ctx, runs, func(*engine.Run) bool { return true })
			expired.Runs.Beside = append(expired.Runs.Beside, gone...)
			expired.Runs.Count += len(gone)
			if err != nil {
				return err
			}
			if len(runs) < some {
				break
			}
			ids[0] = runs[some-1]
		}
	}
	return s.writeIdle(ctx, 1, func(w *writer) error {
		changed, err := w.exec("DELETE FROM waves WHERE id = ? AND status >= 5", wave)
		expired.Count += int(changed)
		return err
	})
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
	var rows, reopened []int64
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
					reopened = append(reopened, row)
				} else {
					runs, rows = append(runs, run), append(rows, row)
				}
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	for _, row := range reopened { // these are not found again until they end
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
