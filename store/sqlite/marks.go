package sqlite

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// marksQuery is answered by the index alone, row included: it is a rowid.
const marksQuery = `SELECT rowid, id, created_at, status FROM runs_history INDEXED BY runs_history_job
	WHERE job_uid = ? AND created_at >= ? AND created_at < ? ORDER BY created_at DESC, id DESC LIMIT ?`

// timedQuery reads the documents of rows.
const timedQuery = "SELECT r.doc FROM json_each(?) AS j CROSS JOIN runs_history AS r ON r.rowid = j.value"

// rowMark is a mark, and the row of history that it stands in; 0 for a run that has not ended.
type rowMark struct {
	engine.RunMark
	row int64
	doc []byte // of a run that has not ended
}

// LatestMarks returns the newest runs of each job, the newest first, those of all jobs at one moment.
func (s *Store) LatestMarks(ctx context.Context, uids []string, limit, timed int) (latest map[string][]engine.RunMark, err error) {
	latest = map[string][]engine.RunMark{}
	err = s.marks(ctx, uids, func(ctx context.Context, reader *snapshot, active map[string][]*runWrite) error {
		found := map[string][]rowMark{}
		var rows []int64
		for _, uid := range uids {
			marks, err := reader.marksOf(ctx, uid, active[uid], math.MinInt64, math.MaxInt64, limit)
			if err != nil {
				return err
			}
			for i := range marks[:min(timed, len(marks))] {
				if marks[i].row != 0 {
					rows = append(rows, marks[i].row)
				}
			}
			found[uid] = marks
		}
		ended, err := reader.timed(ctx, rows)
		if err != nil {
			return err
		}
		for uid, marks := range found {
			for i := range marks {
				mark := &marks[i]
				switch full, ok := ended[mark.ID]; {
				case i >= timed:
				case mark.row != 0 && ok:
					mark.RunMark = full
				case mark.row == 0:
					run, err := decodeRun(mark.doc)
					if err != nil {
						return err
					}
					mark.RunMark = run.Mark()
				}
				latest[uid] = append(latest[uid], mark.RunMark)
			}
		}
		return nil
	})
	return latest, wrap("latest runs of jobs", err)
}

// MarksWithin returns the newest runs of a job that were made within each window, the newest first.
func (s *Store) MarksWithin(ctx context.Context, uid string, windows []engine.Window, limit int) (within [][]engine.RunMark, err error) {
	within = make([][]engine.RunMark, len(windows))
	err = s.marks(ctx, []string{uid}, func(ctx context.Context, reader *snapshot, active map[string][]*runWrite) error {
		for i, w := range windows {
			marks, err := reader.marksOf(ctx, uid, active[uid], always(w.From), always(w.Until), limit)
			if err != nil {
				return err
			}
			for _, mark := range marks {
				within[i] = append(within[i], mark.RunMark)
			}
		}
		return nil
	})
	return within, wrap("runs of a job by windows", err)
}

// marks reads at one moment. What is active is looked at before: a run that ends in between is then found twice, not
// never.
func (s *Store) marks(ctx context.Context, uids []string, read func(context.Context, *snapshot, map[string][]*runWrite) error) (err error) {
	if err := s.readable(ctx); err != nil {
		return err
	}
	active := map[string][]*runWrite{}
	for _, uid := range uids {
		if runs := s.active.of(uid); len(runs) > 0 {
			active[uid] = runs
		}
	}
	return s.moment(ctx, func(ctx context.Context, reader *snapshot) error { return read(ctx, reader, active) })
}

// marksOf merges what is active with what has ended: one that is resumed after it has ended is in both, and active.
func (s *snapshot) marksOf(ctx context.Context, uid string, runs []*runWrite, since, until int64, limit int) (marks []rowMark, err error) {
	active := map[string]bool{}
	for _, run := range runs {
		active[run.id] = true
		if run.createdAt >= since && run.createdAt < until {
			marks = append(marks, rowMark{doc: run.doc, RunMark: engine.RunMark{
				ID: run.id, JobUID: uid, Status: run.status, CreatedAt: time.UnixMilli(run.createdAt).UTC(),
			}})
		}
	}
	err = s.list(ctx, marksQuery, []any{uid, since, until, int64(limit + len(active))}, func(rows *sql.Rows) error {
		mark := rowMark{RunMark: engine.RunMark{JobUID: uid}}
		var at int64
		err := rows.Scan(&mark.row, &mark.ID, &at, &mark.Status)
		if mark.CreatedAt = time.UnixMilli(at).UTC(); !active[mark.ID] {
			marks = append(marks, mark)
		}
		return err
	})
	slices.SortFunc(marks, func(a, b rowMark) int {
		return key{at: always(a.CreatedAt), id: a.ID}.newer(key{at: always(b.CreatedAt), id: b.ID})
	})
	return marks[:min(limit, len(marks))], err
}

// timed returns the marks of rows with their instants, by the runs' ids.
func (s *snapshot) timed(ctx context.Context, rows []int64) (map[string]engine.RunMark, error) {
	marks := map[string]engine.RunMark{}
	if len(rows) == 0 {
		return marks, nil
	}
	list, err := encode(rows)
	if err != nil {
		return nil, err
	}
	err = s.list(ctx, timedQuery, []any{string(list)}, func(rows *sql.Rows) error {
		var document sql.RawBytes
		if err := rows.Scan(&document); err != nil {
			return err
		}
		run, err := decodeRun(document)
		marks[run.ID] = run.Mark()
		return err
	})
	return marks, err
}

// upcomingQuery begins in the index of run_at.
const upcomingQuery = "SELECT " + taskColumns + ` FROM scheduled_tasks INDEXED BY scheduled_tasks_run_at
	WHERE run_at >= ? AND run_at < ? AND namespace = ? AND (run_at, id) > (?, ?) ORDER BY run_at, id LIMIT ?`

// UpcomingPage is Upcoming by pages.
func (s *Store) UpcomingPage(ctx context.Context, namespace, cursor string, limit int) (tasks []engine.ScheduledTask, next string, err error) {
	after, given, err := engine.DecodeCursor("tasks", cursor)
	if err != nil {
		return nil, "", wrap("list upcoming", err)
	}
	from := int64(math.MinInt64)
	if given {
		from = always(after.At)
	}
	tasks, err = s.tasks(ctx, upcomingQuery, from, always(engine.Parked), namespace, from, after.ID, int64(limit)+1)
	if err != nil {
		return nil, "", wrap("list upcoming", err)
	}
	tasks, next = page("tasks", tasks, limit, func(task engine.ScheduledTask) engine.Cursor {
		return engine.Cursor{At: task.RunAt, ID: task.ID}
	})
	return tasks, next, nil
}
