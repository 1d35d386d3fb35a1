package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

const taskColumns = "id, shard, slot, run_at, generation, revision, namespace, job, epoch, accounted, since, taken, paused_until, waiting"

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
	var slot, accounted, since, pausedUntil sql.NullInt64
	var runAt int64
	var taken, waiting []byte
	if err := rows.Scan(&t.ID, &t.Shard, &slot, &runAt, &t.Generation, &t.Revision, &t.Namespace, &t.Job, &t.Epoch,
		&accounted, &since, &taken, &pausedUntil, &waiting); err != nil {
		return t, err
	}
	t.Slot, t.Accounted, t.Since, t.PausedUntil = instantOf(slot), instantOf(accounted), instantOf(since), instantOf(pausedUntil)
	t.RunAt = time.UnixMilli(runAt).UTC()
	if t.Taken, err = decodeInstants(taken); err != nil {
		return t, err
	}
	t.Waiting, err = decodeInstants(waiting)
	return t, err
}

func instantOf(milliseconds sql.NullInt64) time.Time {
	if !milliseconds.Valid {
		return time.Time{}
	}
	return time.UnixMilli(milliseconds.Int64).UTC()
}

// encodeInstants returns a JSON list of milliseconds, NULL for none: most tasks have none.
func encodeInstants(instants []time.Time) (any, error) {
	if len(instants) == 0 {
		return nil, nil
	}
	list := make([]int64, len(instants))
	for i, at := range instants {
		list[i] = at.UnixMilli()
	}
	return encode(list)
}

func decodeInstants(document []byte) (instants []time.Time, err error) {
	if len(document) == 0 {
		return nil, nil
	}
	list, err := decode[[]int64](document)
	for _, milliseconds := range list {
		instants = append(instants, time.UnixMilli(milliseconds).UTC())
	}
	return instants, err
}

// DueTasks returns all scheduled tasks of these shards with RunAt in (after, until], the earliest first.
func (s *Store) DueTasks(ctx context.Context, shards []int, after, until time.Time) ([]engine.ScheduledTask, error) {
	tasks, err := s.tasks(ctx, "SELECT "+taskColumns+` FROM scheduled_tasks INDEXED BY scheduled_tasks_run_at
		WHERE run_at > ? AND run_at <= ? AND (? >> shard) & 1 ORDER BY run_at`, always(after), always(until), shardMask(shards))
	return tasks, wrap("due tasks", err)
}

// TasksByID returns those scheduled tasks that exist, in no order.
func (s *Store) TasksByID(ctx context.Context, uids []string) ([]engine.ScheduledTask, error) {
	return among(ctx, "tasks by id", uids, s.tasks, "SELECT "+taskColumns+" FROM scheduled_tasks WHERE id IN (SELECT value FROM json_each(?))")
}

// TasksOfDAGs returns all scheduled tasks of the roots of these DAGs, in no order: their ids begin with the DAG's uid.
func (s *Store) TasksOfDAGs(ctx context.Context, dagUIDs []string) ([]engine.ScheduledTask, error) {
	return among(ctx, "tasks of DAGs", dagUIDs, s.tasks, "SELECT "+taskColumns+` FROM (SELECT value FROM json_each(?)) CROSS JOIN scheduled_tasks
		WHERE scheduled_tasks.id > value || '-' AND scheduled_tasks.id < value || '.'`)
}

// Upcoming lists scheduled tasks of a namespace (of all, if it is "") that are not parked, the earliest first.
func (s *Store) Upcoming(ctx context.Context, namespace string, limit int) ([]engine.ScheduledTask, error) {
	tasks, err := s.tasks(ctx, "SELECT "+taskColumns+` FROM scheduled_tasks INDEXED BY scheduled_tasks_run_at
		WHERE run_at < ? AND (? = '' OR namespace = ?) ORDER BY run_at, shard, namespace, id LIMIT ?`,
		always(engine.Parked), namespace, namespace, limit)
	return tasks, wrap("upcoming", err)
}
