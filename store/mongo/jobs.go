package mongo

import (
	"context"

	"github.com/tidewheel/tidewheel/engine"
)

// Job gives a living job by name; engine.ErrNotFound.
func (s *Store) Job(ctx context.Context, namespace, name string) (engine.Job, error) {
	return s.jobs.named(ctx, namespace, name)
}

// JobsByUID gives those jobs that exist, tombstones included, in no order.
func (s *Store) JobsByUID(ctx context.Context, uids []string) ([]engine.Job, error) {
	return s.jobs.byUID(ctx, uids)
}

// PendingJobs gives jobs of these shards that the engine has not acted upon, tombstones included.
func (s *Store) PendingJobs(ctx context.Context, shards []int, limit int) ([]engine.Job, error) {
	return s.jobs.pending(ctx, shards, limit)
}

// CreateJob inserts a job of revision 1; engine.ErrExists if a living job has the name.
func (s *Store) CreateJob(ctx context.Context, job engine.Job) error {
	return s.jobs.create(ctx, &job)
}

// ReplaceJob writes a job on condition that the stored one has its UID and the revision before; engine.ErrConflict, or
// engine.ErrNotFound if it is gone.
func (s *Store) ReplaceJob(ctx context.Context, job engine.Job) error {
	return s.jobs.replace(ctx, &job)
}

// Jobs lists living jobs by name, with the cursor of the next page.
func (s *Store) Jobs(ctx context.Context, filter engine.JobFilter) (jobs []engine.Job, next string, err error) {
	return s.jobs.list(ctx, filter.Namespace, filter.Text, filter.Cursor, filter.Limit)
}

// Generation gives one form of a job; engine.ErrNotFound if it is not kept.
func (s *Store) Generation(ctx context.Context, uid string, generation int64) (engine.Generation, error) {
	return s.jobs.formAt(ctx, uid, generation)
}

// Generations lists the kept forms of a job below a generation (0: all of them), newest first.
func (s *Store) Generations(ctx context.Context, uid string, before int64, limit int) ([]engine.Generation, error) {
	return s.jobs.formsBelow(ctx, uid, before, limit)
}

// DropGenerations deletes the forms of a job below a generation, which is at most the present one, and counts them.
func (s *Store) DropGenerations(ctx context.Context, uid string, below int64) (int, error) {
	return s.jobs.drop(ctx, uid, below)
}
