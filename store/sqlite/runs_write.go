package sqlite

import (
	"bytes"
	"context"
	"database/sql/driver"

	"github.com/tidewheel/tidewheel/engine"
)

// runWrite is a write of a run, ready for the writer.
type runWrite struct {
	id         string
	revision   int64
	namespace  string
	jobUID     string
	job        string
	shard      int
	status     engine.Status
	tier       string
	by         string
	reason     string
	createdAt  int64
	finishedAt any
	doc        []byte
}

func encodeRuns(writes []engine.RunWrite) []runWrite {
	runs := make([]runWrite, len(writes))
	room := make([]byte, 0, 384*len(writes))
	for i := range writes {
		runs[i], room = newRunWrite(&writes[i].Run, room)
	}
	return runs
}

// newRunWrite puts the document into room, and gives room without what it took.
func newRunWrite(r *engine.Run, room []byte) (runWrite, []byte) {
	room = encodeRun(room[len(room):], r)
	return runWrite{
		id: r.ID, revision: r.Revision, namespace: r.Namespace, jobUID: r.JobUID, job: r.Job, shard: r.Shard, status: r.Status, tier: string(r.Tier),
		by: r.By, reason: r.Reason, createdAt: always(r.CreatedAt), finishedAt: instant(r.FinishedAt), doc: room[:len(room):len(room)],
	}, room
}

const (
	insertActive = `INSERT INTO runs_active (id, revision, namespace, job_uid, job, shard, status, tier, "by", reason, created_at, doc)
		SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE NOT EXISTS (SELECT 1 FROM runs_history WHERE id = ?) ON CONFLICT (id) DO NOTHING`
	insertHistory = `INSERT INTO runs_history (id, revision, namespace, job_uid, job, status, tier, "by", reason, created_at, finished_at, doc)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`
	updateActive  = `UPDATE runs_active SET revision = ?, status = ?, tier = ?, "by" = ?, reason = ?, doc = ? WHERE id = ? AND revision = ?`
	deleteActive  = "DELETE FROM runs_active WHERE id = ? AND revision = ?"
	deleteHistory = "DELETE FROM runs_history WHERE id = ? AND revision = ?"
	oneRun        = "SELECT doc FROM runs_active WHERE id = ? UNION ALL SELECT doc FROM runs_history WHERE id = ?"
)

// writeRun answers false where the run's condition does not hold.
func (w *writer) writeRun(r *runWrite) (bool, error) {
	written, err := w.tryRun(r)
	if written || err != nil {
		return written, err
	}
	return w.sameRun(r)
}

func (w *writer) tryRun(r *runWrite) (bool, error) {
	before := r.revision - 1
	if before == 0 {
		if r.status.Terminal() {
			if found, err := w.number("SELECT count(*) FROM runs_active WHERE id = ?", r.id); found > 0 || err != nil {
				return false, err
			}
		}
		return w.putRun(r)
	}
	if !r.status.Terminal() {
		changed, err := w.exec(updateActive, r.revision, int64(r.status), r.tier, r.by, r.reason, r.doc, r.id, before)
		if changed > 0 || err != nil {
			return changed > 0, err
		}
	} else {
		changed, err := w.exec(deleteActive, r.id, before)
		if err != nil {
			return false, err
		}
		if changed > 0 {
			return w.putRun(r)
		}
	}
	// A run that has ended is written again when somebody asks for a retry.
	changed, err := w.exec(deleteHistory, r.id, before)
	if changed == 0 || err != nil {
		return false, err
	}
	return w.putRun(r)
}

// putRun inserts a run into the table where it belongs, and answers false if there is one with its id. The caller knows
// that one that has ended is not active.
func (w *writer) putRun(r *runWrite) (bool, error) {
	if err := w.noteName(r); err != nil {
		return false, err
	}
	if !r.status.Terminal() {
		changed, err := w.exec(insertActive, r.id, r.revision, r.namespace, r.jobUID, r.job, r.shard, int64(r.status), r.tier, r.by, r.reason,
			r.createdAt, r.doc, r.id)
		return changed > 0, err
	}
	changed, err := w.exec(insertHistory, r.id, r.revision, r.namespace, r.jobUID, r.job, int64(r.status), r.tier, r.by, r.reason,
		r.createdAt, r.finishedAt, r.doc)
	return changed > 0, err
}

type runName struct{ job, namespace, uid string }

// keptNames bounds the memory of names that are known to be in run_names.
const keptNames = 100_000

// noteName remembers under which names and in which namespaces there are runs.
func (w *writer) noteName(r *runWrite) error {
	name := runName{r.job, r.namespace, r.jobUID}
	if _, known := w.names[name]; !known {
		if _, err := w.exec("INSERT INTO run_names (job, namespace, job_uid) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", r.job, r.namespace, r.jobUID); err != nil {
			return err
		}
		if len(w.names) >= keptNames {
			clear(w.names)
		}
		w.names[name] = struct{}{}
	}
	if _, known := w.namespaces[r.namespace]; !known {
		if _, err := w.exec("INSERT INTO run_namespaces (namespace) VALUES (?) ON CONFLICT DO NOTHING", r.namespace); err != nil {
			return err
		}
		w.namespaces[r.namespace] = struct{}{}
	}
	return nil
}

// sameRun tells whether the stored run is the one to be written.
func (w *writer) sameRun(r *runWrite) (same bool, err error) {
	err = w.query(oneRun, []any{r.id, r.id}, func(values []driver.Value) error {
		document, _ := values[0].([]byte)
		if same = bytes.Equal(document, r.doc); same {
			return nil
		}
		stored, err := decodeRun(document)
		if err != nil {
			return err
		}
		given, err := decodeRun(r.doc)
		same = err == nil && engine.SameRun(stored, given)
		return err
	})
	return same, err
}

// InsertRun inserts a run; engine.ErrExists.
func (s *Store) InsertRun(ctx context.Context, run engine.Run) error {
	r, _ := newRunWrite(&run, nil)
	err := s.write(ctx, 1, func(w *writer) error {
		inserted, err := w.tryRun(&r)
		if err == nil && !inserted {
			err = engine.ErrExists
		}
		return err
	})
	return wrap("insert run "+run.ID, err)
}
