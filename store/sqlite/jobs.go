package sqlite

import (
	"context"

	"github.com/tidewheel/tidewheel/engine"
)

// CreateJob inserts a job with its first generation; engine.ErrExists if a living job has the name, or any job the uid.
// A tombstone of the name stays until it is handled.
func (s *Store) CreateJob(ctx context.Context, job engine.Job) error {
	return jobs.create(ctx, s, &job)
}

// ReplaceJob writes a job on condition of its revision; engine.ErrConflict, or engine.ErrNotFound.
func (s *Store) ReplaceJob(ctx context.Context, job engine.Job) error {
	return jobs.replace(ctx, s, &job)
}

// JobsByUID gives those jobs that exist, tombstones included, in no order.
func (s *Store) JobsByUID(ctx context.Context, uids []string) ([]engine.Job, error) {
	return jobs.byUID(ctx, s, uids)
}

// PendingJobs gives jobs of these shards that the engine has not acted upon, tombstones included.
func (s *Store) PendingJobs(ctx context.Context, shards []int, limit int) ([]engine.Job, error) {
	return jobs.pending(ctx, s, shards, limit)
}

// Job gives a living job by name; engine.ErrNotFound.
func (s *Store) Job(ctx context.Context, namespace, name string) (engine.Job, error) {
	return jobs.named(ctx, s, namespace, name)
}

// Jobs lists living jobs by namespace and name.
func (s *Store) Jobs(ctx context.Context, filter engine.JobFilter) (list []engine.Job, next string, err error) {
	return jobs.living(ctx, s, filter.Namespace, filter.Text, filter.Cursor, filter.Limit)
}

// Generation gives one form of a job; engine.ErrNotFound.
func (s *Store) Generation(ctx context.Context, uid string, generation int64) (engine.Generation, error) {
	return jobs.formAt(ctx, s, uid, generation)
}

// Generations lists the kept forms of a job below a generation (0: all of them), newest first.
func (s *Store) Generations(ctx context.Context, uid string, before int64, limit int) ([]engine.Generation, error) {
	return jobs.formsBelow(ctx, s, uid, before, limit)
}

// DropGenerations deletes the forms of a job below a generation, which is at most the present one, and counts them.
func (s *Store) DropGenerations(ctx context.Context, uid string, below int64) (int, error) {
	return jobs.drop(ctx, s, uid, below)
}
