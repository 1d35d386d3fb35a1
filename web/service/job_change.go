package service

import (
	"context"
	"errors"
	"fmt"

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
	if ifRevision != 0 {
		job, err := s.Job(ctx, namespace, name)
		if err != nil {
			return err
		}
		if job.Revision != ifRevision {
			return explain(engine.ErrConflict, "job", name)
		}
	}
	_, err := s.changeJob(ctx, namespace, name, func(job *engine.Job) bool {
		job.Deleted, job.UpdatedBy = true, by
		return true
	})
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
