package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

const taskColumns = "id, shard, slot, run_at, generation, revision, namespace, job, epoch, noting, writer"

// writeTask answers false where the task's condition does not hold.
func (w *writer) writeTask(write *engine.TaskWrite) (bool, error) {
	t := &write.Task
	if write.Delete {
		_, err := w.exec("DELETE FROM scheduled_tasks WHERE id = ?", t.ID)
		return true, err
	}
	noting, err := encodeNoting(t.Noting)
	if err != nil {
		return false, err
	}
	var changed int64
	if t.Revision == 1 {
		changed, err = w.exec("INSERT INTO scheduled_tasks ("+taskColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
			t.ID, t.Shard, instant(t.Slot), always(t.RunAt), t.Generation, t.Revision, t.Namespace, t.Job, t.Epoch, noting, t.Writer)
	} else {
		changed, err = w.exec(`UPDATE scheduled_tasks SET shard = ?, slot = ?, run_at = ?, generation = ?, revision = ?, namespace = ?, job = ?, epoch = ?,
			noting = ?, writer = ? WHERE id = ? AND revision = ?`,
			t.Shard, instant(t.Slot), always(t.RunAt), t.Generation, t.Revision, t.Namespace, t.Job, t.Epoch, noting, t.Writer, t.ID, t.Revision-1)
	}
	if changed > 0 || err != nil {
		return changed > 0, err
	}
	same := false
	err = w.query("SELECT "+taskColumns+" FROM scheduled_tasks WHERE id = ?", []any{t.ID}, func(v []driver.Value) error {
		stored := engine.ScheduledTask{ID: t.ID, Slot: instantOf(v[2]), RunAt: instantOf(v[3])}
		stored.Shard, stored.Generation, stored.Revision = int(v[1].(int64)), v[4].(int64), v[5].(int64)
		stored.Namespace, stored.Job, stored.Epoch, stored.Writer = v[6].(string), v[7].(string), v[8].(int64), v[10].(int64)
		document, _ := v[9].([]byte)
		stored.Noting, err = decodeNoting(document)
		same = err == nil && engine.SameTask(stored, *t)
		return err
	})
	return same, err
}

// encodeNoting writes what a task has passed over: most have passed over nothing, and NULL says so.
func encodeNoting(noting *engine.Noting) (any, error) {
	if noting == nil {
		return nil, nil
	}
	return encode(noting)
}

func decodeNoting(document []byte) (*engine.Noting, error) {
	if len(document) == 0 {
		return nil, nil
	}
	noting, err := decode[engine.Noting](document)
	return &noting, err
}

func instantOf(v driver.Value) time.Time {
	if milliseconds, ok := v.(int64); ok {
		return time.UnixMilli(milliseconds).UTC()
	}
	return time.Time{}
}

func (s *Store) tasks(ctx context.Context, query string, args ...any) (tasks []engine.ScheduledTask, err error) {
	err = s.list(ctx, query, args, func(rows *sql.Rows) error {
		task, err := scanTask(rows)
		tasks = append(tasks, task)
		return err
	})
	return tasks, err
}

// scanTask reads a row of taskColumns.
func scanTask(rows *sql.Rows) (t engine.ScheduledTask, err error) {
	var slot sql.NullInt64
	var runAt int64
	var noting []byte
	if err := rows.Scan(&t.ID, &t.Shard, &slot, &runAt, &t.Generation, &t.Revision, &t.Namespace, &t.Job, &t.Epoch, &noting, &t.Writer); err != nil {
		return t, err
	}
	if slot.Valid {
		t.Slot = time.UnixMilli(slot.Int64).UTC()
	}
	t.RunAt = time.UnixMilli(runAt).UTC()
	t.Noting, err = decodeNoting(noting)
	return t, err
}

// DueTasks gives all scheduled tasks of these shards with RunAt in (after, until], the earliest first.
func (s *Store) DueTasks(ctx context.Context, shards []int, after, until time.Time) ([]engine.ScheduledTask, error) {
	tasks, err := s.tasks(ctx, "SELECT "+taskColumns+` FROM scheduled_tasks INDEXED BY scheduled_tasks_run_at
		WHERE run_at > ? AND run_at <= ? AND (? >> shard) & 1 ORDER BY run_at`, always(after), always(until), shardMask(shards))
	return tasks, wrap("due tasks", err)
}

// TasksByID gives those scheduled tasks that exist, in no order.
func (s *Store) TasksByID(ctx context.Context, uids []string) ([]engine.ScheduledTask, error) {
	if len(uids) == 0 {
		return nil, nil
	}
	list, err := jsonList(uids)
	if err != nil {
		return nil, wrap("tasks by id", err)
	}
	tasks, err := s.tasks(ctx, "SELECT "+taskColumns+" FROM scheduled_tasks WHERE id IN (SELECT value FROM json_each(?))", list)
	return tasks, wrap("tasks by id", err)
}

// Upcoming lists scheduled tasks of a namespace (of all, if it is "") that are not parked, the earliest first.
func (s *Store) Upcoming(ctx context.Context, namespace string, limit int) ([]engine.ScheduledTask, error) {
	tasks, err := s.tasks(ctx, "SELECT "+taskColumns+` FROM scheduled_tasks INDEXED BY scheduled_tasks_run_at
		WHERE run_at < ? AND (? = '' OR namespace = ?) ORDER BY run_at, shard, namespace, id LIMIT ?`,
		always(engine.Parked), namespace, namespace, limit)
	return tasks, wrap("upcoming", err)
}
