package memory

import (
	"context"
	"fmt"

	"github.com/tidewheel/tidewheel/engine"
)

// CreateJob inserts a job with its first generation; engine.ErrExists if a living job has the name or any job the uid.
func (s *Store) CreateJob(ctx context.Context, job engine.Job) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	return s.jobs.create(&job)
}

// ReplaceJob writes a job on condition of its revision; engine.ErrConflict, or engine.ErrNotFound.
func (s *Store) ReplaceJob(ctx context.Context, job engine.Job) error {
	if err := s.write(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	return s.jobs.replace(&job)
}

// Job gives a living job by name; engine.ErrNotFound.
func (s *Store) Job(ctx context.Context, namespace, name string) (engine.Job, error) {
	if err := s.read(ctx); err != nil {
		return engine.Job{}, err
	}
	defer s.mu.RUnlock()
	return s.jobs.named(namespace, name)
}

// JobsByUID gives those jobs that exist, tombstones included.
func (s *Store) JobsByUID(ctx context.Context, uids []string) ([]engine.Job, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	return s.jobs.some(uids), nil
}

// PendingJobs gives jobs of these shards that the engine has not acted upon, tombstones included, by uid.
func (s *Store) PendingJobs(ctx context.Context, shards []int, limit int) ([]engine.Job, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	return s.jobs.pendingOf(shardSet(shards), limit), nil
}

// Jobs lists living jobs by namespace and name.
func (s *Store) Jobs(ctx context.Context, filter engine.JobFilter) (jobs []engine.Job, next string, err error) {
	cursor, _, err := engine.DecodeCursor("jobs", filter.Cursor)
	if err != nil {
		return nil, "", fmt.Errorf("memory: list jobs: %w", err)
	}
	if err := s.read(ctx); err != nil {
		return nil, "", err
	}
	defer s.mu.RUnlock()
	jobs, next = s.jobs.living(filter.Namespace, filter.Text, cursor, filter.Limit)
	return jobs, next, nil
}

// Generation gives one form of a job; engine.ErrNotFound.
func (s *Store) Generation(ctx context.Context, uid string, generation int64) (engine.Generation, error) {
	if err := s.read(ctx); err != nil {
		return engine.Generation{}, err
	}
	defer s.mu.RUnlock()
	job, err := s.jobs.form(uid, generation)
	if err != nil {
		return engine.Generation{}, err
	}
	return job.Present(), nil
}

// Generations lists the kept forms of a job below a generation (0: all of them), newest first.
func (s *Store) Generations(ctx context.Context, uid string, before int64, limit int) ([]engine.Generation, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	var generations []engine.Generation
	for _, job := range s.jobs.formsBelow(uid, before, limit) {
		generations = append(generations, job.Present())
	}
	return generations, nil
}

// DropGenerations deletes the forms of a job below a generation, which is at most the present one, and counts them.
func (s *Store) DropGenerations(ctx context.Context, uid string, below int64) (int, error) {
	if err := s.write(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return s.jobs.drop(uid, below), nil
}
