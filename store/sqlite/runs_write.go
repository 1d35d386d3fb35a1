package sqlite

import (
	"cmp"
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
}

func newRunWrite(r *engine.Run, document []byte) *runWrite {
	return &runWrite{
		id: r.ID, revision: r.Revision, namespace: r.Namespace, jobUID: r.JobUID, job: cmp.Or(r.Job, r.DAG), shard: r.Shard, status: r.Status, tier: string(r.Tier),
		by: r.By, reason: r.Reason, createdAt: always(r.CreatedAt), finishedAt: instant(r.FinishedAt), doc: document,
	}
}

const (
	deleteHistory = "DELETE FROM runs_history WHERE turned = ?"
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

// putRun puts a run where it belongs, over what stands there: into the log, or, once it has ended, into history. A run
// that has ended and is resumed, because a user asks for a retry, keeps its row of history until it ends again: readers ask
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

// keep puts a run into the log. When its group fails, it comes here again.
func (w *writer) keep(r *runWrite, ended bool) {
	r.ended = ended
	w.log.put(r)
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
