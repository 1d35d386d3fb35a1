package service

import (
	"context"
	"errors"
	"fmt"
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

// Generations lists the forms a job has had, newest first.
func (s *Service) Generations(ctx context.Context, namespace, name string) ([]engine.Generation, error) {
	job, err := s.Job(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return s.store.Generations(ctx, job.UID, s.config.Generations)
}

// PauseJob stops a job's schedule; what runs goes on. Pausing a paused job changes nothing.
func (s *Service) PauseJob(ctx context.Context, namespace, name, by string) (engine.Job, error) {
	return s.changeJob(ctx, namespace, name, func(job *engine.Job) bool {
		if job.Paused {
			return false
		}
		job.Paused, job.PausedAt, job.PausedBy = true, s.now(), by
		return true
	})
}

// ResumeJob lets a job's schedule go on; slots of the pause are dealt with as its catch-up policy says.
func (s *Service) ResumeJob(ctx context.Context, namespace, name, by string) (engine.Job, error) {
	return s.changeJob(ctx, namespace, name, func(job *engine.Job) bool {
		if !job.Paused {
			return false
		}
		job.Paused, job.PausedAt, job.PausedBy = false, s.now(), by
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
