package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// JobStore is what lists, charts and calendars of jobs ask of a store. All of it is bounded by what is asked for, never
// by how long the history is.
type JobStore interface {
	LatestMarks(ctx context.Context, uids []string, limit, timed int) (map[string][]engine.RunMark, error)
	MarksWithin(ctx context.Context, uid string, windows []engine.Window, limit int) ([][]engine.RunMark, error)
	UpcomingPage(ctx context.Context, namespace, cursor string, limit int) (tasks []engine.ScheduledTask, next string, err error)
	JobsByUID(ctx context.Context, uids []string) ([]engine.Job, error)
}

const (
	// HealthRuns is how many of a job's runs its success rate is of.
	HealthRuns = 50
	// HealthTimed is how many of them are known with their instants.
	HealthTimed = 20
	// lateAfter is how long after its slot a job is late that does not say so itself, in its alerts.
	lateAfter = 30 * time.Second
	// engineBehind is how long after its slot the engine should have taken up what is planned.
	engineBehind = 5 * time.Second
)

// badStatuses are the final statuses that may need a user's attention.
var badStatuses = []engine.Status{engine.StatusFailed, engine.StatusTimedOut, engine.StatusLost, engine.StatusDead}

// Health is how a job does, by its last runs, or a DAG, by its last waves.
type Health struct {
	// Marks are the last runs, the newest first; those that wait for a slot to come are left out. A DAG's are its waves that
	// have opened.
	Marks []engine.RunMark
	// Waves are the last waves of a DAG, the newest first; those that have not opened are among them.
	Waves []engine.Wave
	// Ended counts those of them that succeeded or failed, Succeeded those that succeeded.
	Ended     int
	Succeeded int
	// Failures counts how many failed one after the other, up to now.
	Failures int
	// Late is how long something of a job is overdue, 0 if nothing is.
	Late time.Duration
}

// Failing reports whether the last run or wave that ended was a bad one.
func (h *Health) Failing() bool { return h.Failures > 0 }

// running reports whether a wave is open, or a run is active.
func (h *Health) running() bool {
	return slices.ContainsFunc(h.Marks, func(mark engine.RunMark) bool { return mark.Status == engine.StatusRunning })
}

// healthOf judges a job by its newest runs and by what is planned of it, nil if nothing is.
func healthOf(job *engine.Job, marks []engine.RunMark, task *engine.ScheduledTask, now time.Time) Health {
	var h Health
	settled := false
	after := lateAfter
	if job.Spec.Alerts != nil && job.Spec.Alerts.Lag > 0 {
		after = time.Duration(job.Spec.Alerts.Lag)
	}
	for i := range marks {
		mark := &marks[i]
		if mark.Status == engine.StatusScheduled {
			continue
		}
		h.Marks = append(h.Marks, *mark)
		switch {
		case slices.Contains(badStatuses, mark.Status):
			h.Ended++
			if !settled {
				h.Failures++
			}
		case mark.Status == engine.StatusSucceeded:
			h.Ended++
			h.Succeeded++
			settled = true
		case mark.Status == engine.StatusQueued && mark.StartedAt.IsZero():
			due := mark.CreatedAt
			if slot, ok := engine.SlotOf(mark.ID); ok && mark.Trigger == engine.TriggerSchedule {
				due = slot
			}
			if over := now.Sub(due); over > after {
				h.Late = max(h.Late, over)
			}
		}
	}
	if task != nil && !job.Paused {
		if over := now.Sub(task.RunAt); over > engineBehind {
			h.Late = max(h.Late, over)
		}
	}
	return h
}

// HealthOf reports how jobs do, by their uids, and when they fire next.
func (s *Service) HealthOf(ctx context.Context, jobs []engine.Job) (health map[string]Health, next map[string]time.Time, err error) {
	uids := make([]string, len(jobs))
	for i := range jobs {
		uids[i] = jobs[i].UID
	}
	health, next = map[string]Health{}, map[string]time.Time{}
	if len(uids) == 0 {
		return health, next, nil
	}
	latest, err := s.store.LatestMarks(ctx, uids, HealthRuns, HealthTimed)
	if err != nil {
		return nil, nil, fmt.Errorf("read the latest runs: %w", err)
	}
	tasks, err := s.store.TasksByID(ctx, uids)
	if err != nil {
		return nil, nil, fmt.Errorf("read what is planned: %w", err)
	}
	planned := map[string]*engine.ScheduledTask{}
	for i := range tasks {
		if tasks[i].RunAt.Before(engine.Parked) {
			planned[tasks[i].ID] = &tasks[i]
		}
	}
	now := s.now()
	for i := range jobs {
		job := &jobs[i]
		health[job.UID] = healthOf(job, latest[job.UID], planned[job.UID], now)
		if task := planned[job.UID]; task != nil && !job.Paused {
			next[job.UID] = task.Slot
		}
	}
	return health, next, nil
}
