package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"github.com/tidewheel/tidewheel/engine"
)

const insertGeneration = "INSERT INTO generations (uid, generation, doc) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"

// encodeJob gives the documents of a job and of its present generation.
func encodeJob(job *engine.Job) (document, generation []byte, err error) {
	if document, err = encode(job); err != nil {
		return nil, nil, err
	}
	generation, err = encode(&engine.Generation{
		UID: job.UID, Generation: job.Generation, Spec: job.Spec, By: job.UpdatedBy, At: job.UpdatedAt, Message: job.Message,
	})
	return document, generation, err
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// CreateJob inserts a job with its first generation; engine.ErrExists if a living job has the name, or any job the uid.
// A tombstone of the name stays until it is handled.
func (s *Store) CreateJob(ctx context.Context, job engine.Job) error {
	document, generation, err := encodeJob(&job)
	if err != nil {
		return wrap("create job "+job.Key(), err)
	}
	return wrap("create job "+job.Key(), s.write(ctx, 2, func(w *writer) error {
		changed, err := w.exec("INSERT INTO jobs (uid, namespace, name, shard, revision, deleted, pending, doc) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
			job.UID, job.Namespace, job.Name, job.Shard, job.Revision, bit(job.Deleted), bit(job.Pending), document)
		if err != nil {
			return err
		}
		if changed == 0 {
			return engine.ErrExists
		}
		_, err = w.exec(insertGeneration, job.UID, job.Generation, generation)
		return err
	}))
}

// ReplaceJob writes a job on condition of its revision; engine.ErrConflict, or engine.ErrNotFound.
func (s *Store) ReplaceJob(ctx context.Context, job engine.Job) error {
	document, generation, err := encodeJob(&job)
	if err != nil {
		return wrap("replace job "+job.Key(), err)
	}
	return wrap("replace job "+job.Key(), s.write(ctx, 2, func(w *writer) error {
		changed, err := w.exec("UPDATE jobs SET revision = ?, deleted = ?, pending = ?, doc = ? WHERE uid = ? AND revision = ?",
			job.Revision, bit(job.Deleted), bit(job.Pending), document, job.UID, job.Revision-1)
		if err != nil {
			return err
		}
		if changed == 0 {
			return w.absentOrChanged("SELECT count(*) FROM jobs WHERE uid = ?", job.UID)
		}
		_, err = w.exec(insertGeneration, job.UID, job.Generation, generation)
		return err
	}))
}

// absentOrChanged tells why a condition on a revision did not hold.
func (w *writer) absentOrChanged(count string, args ...any) error {
	switch found, err := w.number(count, args...); {
	case err != nil:
		return err
	case found == 0:
		return engine.ErrNotFound
	default:
		return engine.ErrConflict
	}
}

// handle clears what engine.JobHandled says. Whether a job is pending stands in its column, not in its document.
func (w *writer) handle(h *engine.JobHandled) error {
	changed, err := w.exec("UPDATE jobs SET pending = 0 WHERE uid = ? AND revision = ? AND deleted = 0", h.UID, h.Revision)
	if changed > 0 || err != nil {
		return err
	}
	changed, err = w.exec("DELETE FROM jobs WHERE uid = ? AND revision = ? AND deleted = 1", h.UID, h.Revision)
	if changed == 0 || err != nil {
		return err
	}
	_, err = w.exec("DELETE FROM generations WHERE uid = ?", h.UID)
	return err
}

// jobs reads documents of jobs, each followed by whether it is pending.
func (s *Store) jobs(ctx context.Context, query string, args ...any) (jobs []engine.Job, err error) {
	err = s.list(ctx, query, args, func(rows *sql.Rows) error {
		var document sql.RawBytes
		var pending bool
		if err := rows.Scan(&document, &pending); err != nil {
			return err
		}
		job, err := decode[engine.Job](document)
		job.Pending = pending
		jobs = append(jobs, job)
		return err
	})
	return jobs, err
}

// JobsByUID gives those jobs that exist, tombstones included, in no order.
func (s *Store) JobsByUID(ctx context.Context, uids []string) ([]engine.Job, error) {
	if len(uids) == 0 {
		return nil, nil
	}
	list, err := jsonList(uids)
	if err != nil {
		return nil, wrap("jobs by uid", err)
	}
	jobs, err := s.jobs(ctx, "SELECT doc, pending FROM json_each(?) AS j CROSS JOIN jobs ON uid = j.value", list)
	return jobs, wrap("jobs by uid", err)
}

// PendingJobs gives jobs of these shards that the engine has not acted upon, tombstones included.
func (s *Store) PendingJobs(ctx context.Context, shards []int, limit int) ([]engine.Job, error) {
	jobs, err := s.jobs(ctx, "SELECT doc, pending FROM jobs WHERE pending = 1 AND (? >> shard) & 1 ORDER BY uid LIMIT ?", shardMask(shards), limit)
	return jobs, wrap("pending jobs", err)
}

// Job gives a living job by name; engine.ErrNotFound.
func (s *Store) Job(ctx context.Context, namespace, name string) (engine.Job, error) {
	jobs, err := s.jobs(ctx, "SELECT doc, pending FROM jobs WHERE namespace = ? AND name = ? AND deleted = 0", namespace, name)
	if err == nil && len(jobs) == 0 {
		err = engine.ErrNotFound
	}
	if err != nil {
		return engine.Job{}, wrap("job "+namespace+"/"+name, err)
	}
	return jobs[0], nil
}

// Jobs lists living jobs by namespace and name.
func (s *Store) Jobs(ctx context.Context, filter engine.JobFilter) (jobs []engine.Job, next string, err error) {
	after, err := decodeKey("jobs", filter.Cursor)
	if err != nil {
		return nil, "", wrap("list jobs", err)
	}
	where, args := []string{"deleted = 0", "(namespace, name) > (?, ?)"}, []any{after[0], after[1]}
	if filter.Namespace != "" {
		where, args = append(where, "namespace = ?"), append(args, filter.Namespace)
	}
	if filter.Text != "" {
		where, args = append(where, `name LIKE ? ESCAPE '\'`), append(args, likePattern(filter.Text)) // names are ASCII
	}
	jobs, err = s.jobs(ctx, "SELECT doc, pending FROM jobs INDEXED BY jobs_name WHERE "+strings.Join(where, " AND ")+" ORDER BY namespace, name LIMIT ?",
		append(args, int64(filter.Limit)+1)...)
	if err != nil {
		return nil, "", wrap("list jobs", err)
	}
	jobs, next = page("jobs", jobs, filter.Limit, func(job engine.Job) engine.Cursor { return engine.Cursor{ID: job.Key()} })
	return jobs, next, nil
}

// decodeKey reads the cursor of a list by "namespace/name".
func decodeKey(kind, word string) (key [2]string, err error) {
	cursor, given, err := engine.DecodeCursor(kind, word)
	if err != nil || !given {
		return key, err
	}
	namespace, name, ok := strings.Cut(cursor.ID, "/")
	if !ok {
		return key, engine.ErrCursor
	}
	return [2]string{namespace, name}, nil
}

// page cuts a list, of which one more than limit was asked, and gives the cursor of what follows.
func page[T any](kind string, list []T, limit int, cursor func(T) engine.Cursor) (cut []T, next string) {
	if limit >= len(list) {
		return list, ""
	}
	return list[:limit], cursor(list[limit-1]).Encode(kind)
}

// Generation gives one form of a job; engine.ErrNotFound.
func (s *Store) Generation(ctx context.Context, uid string, generation int64) (engine.Generation, error) {
	found, err := documents[engine.Generation](ctx, s, "SELECT doc FROM generations WHERE uid = ? AND generation = ?", uid, generation)
	if err == nil && len(found) == 0 {
		err = engine.ErrNotFound
	}
	if err != nil {
		return engine.Generation{}, wrap("generation of job "+uid, err)
	}
	return found[0], nil
}

// Generations lists the kept forms of a job, newest first.
func (s *Store) Generations(ctx context.Context, uid string, limit int) ([]engine.Generation, error) {
	generations, err := documents[engine.Generation](ctx, s, "SELECT doc FROM generations WHERE uid = ? ORDER BY generation DESC LIMIT ?", uid, limit)
	return generations, wrap("generations of job "+uid, err)
}
