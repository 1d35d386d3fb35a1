package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
)

// LatestMarks returns the newest runs of each job, the newest first.
func (s *Store) LatestMarks(ctx context.Context, uids []string, limit, timed int) (map[string][]engine.RunMark, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	latest := map[string][]engine.RunMark{}
	for _, run := range s.runs {
		if slices.Contains(uids, run.JobUID) {
			latest[run.JobUID] = append(latest[run.JobUID], run.Mark())
		}
	}
	for uid, marks := range latest {
		sortMarks(marks)
		marks = marks[:min(limit, len(marks))]
		for i := min(timed, len(marks)); i < len(marks); i++ {
			marks[i] = bare(marks[i])
		}
		latest[uid] = marks
	}
	return latest, nil
}

// MarksWithin returns the newest runs of a job that were made within each window, the newest first.
func (s *Store) MarksWithin(ctx context.Context, uid string, windows []engine.Window, limit int) ([][]engine.RunMark, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	within := make([][]engine.RunMark, len(windows))
	for i, window := range windows {
		for _, run := range s.runs {
			if run.JobUID == uid && !run.CreatedAt.Before(window.From) && run.CreatedAt.Before(window.Until) {
				within[i] = append(within[i], bare(run.Mark()))
			}
		}
		sortMarks(within[i])
		within[i] = within[i][:min(limit, len(within[i]))]
	}
	return within, nil
}

func sortMarks(marks []engine.RunMark) {
	slices.SortFunc(marks, func(a, b engine.RunMark) int { return newestFirst(a.CreatedAt, b.CreatedAt, a.ID, b.ID) })
}

// bare is a mark without its instants.
func bare(mark engine.RunMark) engine.RunMark {
	return engine.RunMark{ID: mark.ID, JobUID: mark.JobUID, Status: mark.Status, CreatedAt: mark.CreatedAt}
}

// UpcomingPage is Upcoming by pages.
func (s *Store) UpcomingPage(ctx context.Context, namespace, cursor string, limit int) (tasks []engine.ScheduledTask, next string, err error) {
	after, given, err := engine.DecodeCursor("tasks", cursor)
	if err != nil {
		return nil, "", fmt.Errorf("memory: list upcoming: %w", err)
	}
	if err := s.read(ctx); err != nil {
		return nil, "", err
	}
	defer s.mu.RUnlock()
	for _, task := range s.tasks {
		if task.RunAt.Before(engine.Parked) && task.Namespace == namespace &&
			(!given || newestFirst(after.At, task.RunAt, after.ID, task.ID) > 0) {
			tasks = append(tasks, copyTask(&task))
		}
	}
	slices.SortFunc(tasks, func(a, b engine.ScheduledTask) int { return newestFirst(b.RunAt, a.RunAt, b.ID, a.ID) })
	tasks, next = page("tasks", tasks, limit, func(task engine.ScheduledTask) engine.Cursor {
		return engine.Cursor{At: task.RunAt, ID: task.ID}
	})
	return tasks, next, nil
}
