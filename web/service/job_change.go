package service

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Job gives one job.
func (s *Service) Job(ctx context.Context, namespace, name string) (engine.Job, error) {
	job, err := s.store.Job(ctx, namespace, name)
	return job, explain(err, "job", name)
}

// Jobs lists jobs by name, with the cursor of the next page.
func (s *Service) Jobs(ctx context.Context, filter engine.JobFilter) ([]engine.Job, string, error) {
	return s.store.Jobs(ctx, filter)
}

// NextSlotsOf tells when jobs fire next, by their uids; a job that is paused or has nothing planned is not in it.
func (s *Service) NextSlotsOf(ctx context.Context, jobs ...engine.Job) (map[string]time.Time, error) {
	var uids []string
	for i := range jobs {
		if !jobs[i].Paused {
			uids = append(uids, jobs[i].UID)
		}
	}
	next := map[string]time.Time{}
	if len(uids) == 0 {
		return next, nil
	}
	tasks, err := s.store.TasksByID(ctx, uids)
	if err != nil {
		return nil, fmt.Errorf("read what is planned: %w", err)
	}
	for i := range tasks {
		if tasks[i].RunAt.Before(engine.Parked) {
			next[tasks[i].ID] = tasks[i].Slot
		}
	}
	return next, nil
}

// generationsList is the kind of their cursors.
const generationsList = "generations"

// GenerationsPage lists the forms a job has had, newest first, with the cursor of the next page.
func (s *Service) GenerationsPage(ctx context.Context, namespace, name, cursor string, limit int) ([]engine.Generation, string, error) {
	before, err := generationsBefore(generationsList, cursor)
	if err != nil {
		return nil, "", err
	}
	job, err := s.Job(ctx, namespace, name)
	if err != nil {
		return nil, "", err
	}
	generations, err := s.store.Generations(ctx, job.UID, before, limit+1)
	if err != nil || len(generations) <= limit {
		return generations, "", err
	}
	generations = generations[:limit]
	return generations, generationsAfter(generationsList, generations[limit-1].Generation), nil
}

// generationsBefore reads a cursor of a list of generations: those before this number come next; 0 is the first page.
func generationsBefore(list, cursor string) (int64, error) {
	after, given, err := engine.DecodeCursor(list, cursor)
	if err != nil || !given {
		return 0, err
	}
	before, err := strconv.ParseInt(after.ID, 10, 64)
	if err != nil || before < 1 {
		return 0, engine.ErrCursor
	}
	return before, nil
}

// generationsAfter is the cursor of the page after the one which ends with this generation.
func generationsAfter(list string, last int64) string {
	return engine.Cursor{ID: strconv.FormatInt(last, 10)}.Encode(list)
}

// MaxReason is the longest reason for a pause, in bytes.
const MaxReason = 500

// PauseJob stops a job's schedule; what runs goes on. The reason is for people and may be "". Pausing a paused job
// changes nothing, unless the reason is another one.
func (s *Service) PauseJob(ctx context.Context, namespace, name, by, reason string) (engine.Job, error) {
	reason = strings.TrimSpace(reason)
	if len(reason) > MaxReason {
		return engine.Job{}, field("reason_too_long", "body.reason", "the reason is %d bytes long: at most %d are kept", len(reason), MaxReason)
	}
	return s.changeJob(ctx, namespace, name, func(job *engine.Job) bool {
		if job.Paused && (reason == "" || reason == job.PausedReason) {
			return false
		}
		if !job.Paused {
			job.PausedAt = s.now()
		}
		job.Paused, job.PausedBy, job.PausedReason = true, by, reason
		return true
	})
}

// ResumeJob lets a job's schedule go on; slots of the pause are dealt with as its catch-up policy says.
func (s *Service) ResumeJob(ctx context.Context, namespace, name, by string) (engine.Job, error) {
	return s.changeJob(ctx, namespace, name, func(job *engine.Job) bool {
		if !job.Paused {
			return false
		}
		job.Paused, job.PausedAt, job.PausedBy, job.PausedReason = false, s.now(), by, ""
		return true
	})
}

// DeleteJob removes a job and what is planned of it. What runs goes on; history stays. ifRevision 0 means any.
func (s *Service) DeleteJob(ctx context.Context, namespace, name, by string, ifRevision int64) error {
	changed := false
	_, err := s.changeJob(ctx, namespace, name, func(job *engine.Job) bool {
		if changed = ifRevision != 0 && job.Revision != ifRevision; changed {
			return false
		}
		job.Deleted, job.UpdatedBy = true, by
		return true
	})
	if err == nil && changed {
		return explain(engine.ErrConflict, "job", name)
	}
	return err
}

// changeJob reads a job, changes it and writes it, again where somebody else was faster.
func (s *Service) changeJob(ctx context.Context, namespace, name string, change func(*engine.Job) bool) (engine.Job, error) {
	for range 10 {
		job, err := s.store.Job(ctx, namespace, name)
		if err != nil {
			return engine.Job{}, explain(err, "job", name)
		}
		if !change(&job) {
			return job, nil
		}
		changed, err := s.replaceJob(ctx, job)
		if errors.Is(err, engine.ErrConflict) {
			continue
		}
		return changed, explain(err, "job", name)
	}
	return engine.Job{}, fmt.Errorf("change job %s: %w", name, explain(engine.ErrConflict, "job", name))
}
