package sqlite

import (
	"bytes"
	"cmp"
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
)

// runWrite is a write of a run, ready for the writer.
type runWrite struct {
	id         string
	revision   int64
	namespace  string
	jobUID     string
	job        string // name of the job, or of the DAG whose task it is
	shard      int
	status     engine.Status
	tier       string
	by         string
	reason     string
	createdAt  int64
	finishedAt any
	doc        []byte
	ended      bool // it may have ended before, and its row of then stand in history
	follows    bool // as engine.RunWrite has it
	halts      bool // the same
}

func encodeRuns(writes []engine.RunWrite) []*runWrite {
	runs := make([]*runWrite, len(writes))
	var room []byte
	for i := range writes {
		room = encodeRun(room[:0], &writes[i].Run)
		// Each in memory of its own: it is kept as long as the run is active, and should not keep others.
		runs[i] = newRunWrite(&writes[i].Run, bytes.Clone(room))
		runs[i].follows, runs[i].halts = writes[i].Follows(), writes[i].Halts()
	}
	return runs
}

func newRunWrite(r *engine.Run, document []byte) *runWrite {
	return &runWrite{
		id: r.ID, revision: r.Revision, namespace: r.Namespace, jobUID: r.JobUID, job: cmp.Or(r.Job, r.DAG), shard: r.Shard, status: r.Status, tier: string(r.Tier),
		by: r.By, reason: r.Reason, createdAt: always(r.CreatedAt), finishedAt: instant(r.FinishedAt), doc: document,
	}
}

const (
	insertHistory = `INSERT INTO runs_history (turned, id, revision, namespace, job_uid, job, status, tier, "by", reason, created_at, finished_at, doc)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (turned) DO NOTHING`
	insertTask = `INSERT INTO runs_history (turned, id, revision, namespace, job_uid, job, status, tier, "by", reason, created_at, finished_at, doc, task)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (turned) DO NOTHING`
	deleteHistory = "DELETE FROM runs_history WHERE turned = ?"
	updateHistory = "UPDATE runs_history SET revision = ?, status = ?, tier = ?, \"by\" = ?, reason = ?, finished_at = ?, doc = ? WHERE turned = ? AND revision = ?"
	putHistory    = `INSERT OR REPLACE INTO runs_history
		(turned, id, revision, namespace, job_uid, job, status, tier, "by", reason, created_at, finished_at, doc, task)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	endedRun = "SELECT doc FROM runs_history WHERE turned = ?"
)

// turned is how a run that has ended is found by its id: what follows the job's uid comes first, which for most runs is
// the slot. That of a task stays as it is: the runs of a wave stand together.
func turned(id string) string {
	uid, rest, _ := strings.Cut(id, "-")
	if strings.IndexByte(rest, '-') >= 0 {
		return id
	}
	return rest + "-" + uid
}

// task is the name of the task that it is a run of, "" for the run of a job.
func (r *runWrite) task() string { return engine.RunTask(r.id) }

// writeRun answers false where the run's condition does not hold.
func (w *writer) writeRun(r *runWrite) (bool, error) {
	written, err := w.tryRun(r)
	if written || err != nil {
		return written, err
	}
	return w.sameRun(r)
}

// putRun puts a run where it belongs, over what stands there: into the log, or, once it has ended, into history. A run
// that has ended and goes on, because a user asks for a retry, keeps its row of history until it ends again: readers ask
// first which runs are active, so that none is missed on its way, and these count for more than their rows.
func (w *writer) putRun(r *runWrite) error {
	active := w.log.get(r.id)
	if active == nil {
		if err := w.noteName(r); err != nil {
			return err
		}
	}
	if !r.status.Terminal() {
		w.keep(r, true)
		return nil
	}
	if active != nil {
		w.log.remove(r.id)
	}
	_, err := w.exec(putHistory, turned(r.id), r.id, r.revision, r.namespace, r.jobUID, r.job, int64(r.status), r.tier, r.by, r.reason,
		r.createdAt, r.finishedAt, r.doc, r.task())
	return err
}

// removeRun removes a run, wherever it is.
func (w *writer) removeRun(id string) error {
	if active := w.log.get(id); active != nil {
		w.log.remove(id)
		if !active.ended {
			return nil
		}
	}
	_, err := w.exec(deleteHistory, turned(id))
	return err
}

// tryRun does what putRun does if the run's condition holds.
func (w *writer) tryRun(r *runWrite) (bool, error) {
	active := w.log.get(r.id)
	before := r.revision - 1
	switch {
	case active != nil && (before == 0 || active.revision != before || active.createdAt != r.createdAt):
		return false, nil
	case active != nil && !r.status.Terminal():
		w.keep(r, active.ended)
		return true, nil
	case active != nil:
		return true, w.end(active, r)
	case before == 0 && r.status.Terminal():
		return w.insertEnded(r)
	}
	// 0: there is none; -1: it is another, made again under its id
	revision, err := w.number("SELECT CASE created_at WHEN ? THEN revision ELSE -1 END FROM runs_history WHERE turned = ?", r.createdAt, turned(r.id))
	switch {
	case err != nil || revision != before:
		return false, err
	case r.status.Terminal():
		changed, err := w.exec(updateHistory, r.revision, int64(r.status), r.tier, r.by, r.reason, r.finishedAt, r.doc, turned(r.id), before)
		return changed > 0, err
	case before == 0:
		if err := w.noteName(r); err != nil {
			return false, err
		}
	default: // what goes on does not expire
		if _, err := w.exec("UPDATE runs_history SET finished_at = NULL WHERE turned = ?", turned(r.id)); err != nil {
			return false, err
		}
	}
	w.keep(r, before > 0)
	return true, nil
}

// keep puts a run into the log. When its group fails, it comes here again.
func (w *writer) keep(r *runWrite, ended bool) {
	r.ended = ended
	w.log.put(r)
}

// end moves an active run into history.
func (w *writer) end(active, r *runWrite) error {
	if active.ended {
		if _, err := w.exec(deleteHistory, turned(r.id)); err != nil {
			return err
		}
	}
	inserted, err := w.insertEnded(r)
	switch {
	case err != nil:
		return err
	case !inserted:
		return fmt.Errorf("%w: run %s stands in history before it has ended", errDocument, r.id)
	}
	w.log.remove(r.id)
	return nil
}

// insertEnded answers false if there is a run with this id in history.
func (w *writer) insertEnded(r *runWrite) (bool, error) {
	if err := w.noteName(r); err != nil {
		return false, err
	}
	if task := r.task(); task != "" {
		changed, err := w.exec(insertTask, r.id, r.id, r.revision, r.namespace, r.jobUID, r.job, int64(r.status), r.tier, r.by, r.reason,
			r.createdAt, r.finishedAt, r.doc, task)
		return changed > 0, err
	}
	changed, err := w.exec(insertHistory, turned(r.id), r.id, r.revision, r.namespace, r.jobUID, r.job, int64(r.status), r.tier, r.by, r.reason,
		r.createdAt, r.finishedAt, r.doc)
	return changed > 0, err
}

// dropRun forgets a run that has not been queued.
func (w *writer) dropRun(drop engine.RunDrop) error {
	active := w.log.get(drop.ID)
	if active == nil || active.status != engine.StatusScheduled || active.revision != drop.Revision || active.createdAt != always(drop.CreatedAt) {
		return nil
	}
	return w.removeRun(drop.ID)
}

type runName struct{ job, namespace, uid string }

// keptNames bounds the memory of names that are known to be in run_names.
const keptNames = 100_000

// noteName remembers under which names and in which namespaces there are runs.
func (w *writer) noteName(r *runWrite) error {
	name := runName{r.job, r.namespace, r.jobUID}
	if _, known := w.names[name]; !known {
		insert := "INSERT INTO run_names (job, namespace, job_uid) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
		if r.task() != "" {
			insert = "INSERT INTO run_dags (dag, namespace, dag_uid) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
		}
		if _, err := w.exec(insert, r.job, r.namespace, r.jobUID); err != nil {
			return err
		}
		if len(w.names) >= keptNames {
			clear(w.names)
		}
		w.names[name] = struct{}{}
	}
	return w.noteNamespace(r.namespace)
}

// noteNamespace remembers a namespace of runs or waves.
func (w *writer) noteNamespace(namespace string) error {
	if _, known := w.namespaces[namespace]; known {
		return nil
	}
	if _, err := w.exec("INSERT INTO run_namespaces (namespace) VALUES (?) ON CONFLICT DO NOTHING", namespace); err != nil {
		return err
	}
	w.namespaces[namespace] = struct{}{}
	return nil
}

// sameRun reports whether the stored run is the one to be written.
func (w *writer) sameRun(r *runWrite) (same bool, err error) {
	compare := func(document []byte) error {
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
	}
	if active := w.log.get(r.id); active != nil {
		return same, compare(active.doc)
	}
	err = w.query(endedRun, []any{turned(r.id)}, func(values []driver.Value) error {
		document, _ := values[0].([]byte)
		return compare(document)
	})
	return same, err
}
