package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidewheel/tidewheel/engine"
)

// Run returns one run of a namespace, also while the engine has not acted on the request for it. All that users read and change
// by the id of a run goes through it: a run of another namespace is not found.
func (s *Service) Run(ctx context.Context, namespace, id string) (engine.Run, error) {
	run, err := s.runs().get(ctx, id)
	if err == nil && run.Namespace != namespace {
		return engine.Run{}, notIn(ctx, namespace, "run", id, run.Namespace)
	}
	return run, explain(err, "run", id)
}

// Runs lists history, newest first, with the cursor of the next page.
func (s *Service) Runs(ctx context.Context, filter engine.RunFilter) ([]engine.Run, string, error) {
	return s.store.Runs(ctx, filter)
}

// CancelRun asks the engine to end a run. It returns as soon as the request is durable; the run ends a moment later.
func (s *Service) CancelRun(ctx context.Context, namespace, id, by string) (engine.Run, error) {
	run, err := s.Run(ctx, namespace, id)
	if err != nil {
		return engine.Run{}, err
	}
	if run.Status.Terminal() {
		return run, conflict("run_ended", "run %s has ended (%s): there is nothing to cancel", id, run.Status)
	}
	return run, s.command(ctx, engine.Command{
		ID: id + "-cancel", Kind: engine.CommandCancel, RunID: id, JobUID: run.JobUID, By: by, At: s.after(run.CreatedAt),
	})
}

// RetryRun asks the engine for another attempt of a run that ended badly. The run of a task resumes its wave, and
// all that failed there with it, so the wave must have ended.
func (s *Service) RetryRun(ctx context.Context, namespace, id, by string) (engine.Run, error) {
	run, err := s.Run(ctx, namespace, id)
	if err != nil {
		return engine.Run{}, err
	}
	again := run.Job
	if run.DAG != "" {
		again = run.DAG
	}
	switch {
	case run.Status == engine.StatusSucceeded:
		return run, conflict("run_succeeded", "run %s succeeded: to repeat it, start a new run with `tidewheel run %s`", id, again)
	case run.Task != "":
		return run, s.retryTask(ctx, &run, by)
	case run.Status != engine.StatusRetrying && !run.Status.CanRetry():
		return run, conflict("run_not_ended", "run %s is %s: it can be retried once it has ended", id, run.Status)
	}
	if err := s.jobLives(ctx, &run); err != nil {
		return run, err
	}
	return run, s.command(ctx, engine.Command{
		ID: fmt.Sprintf("%s-retry-%d", id, run.Revision), Kind: engine.CommandRetry, RunID: id, JobUID: run.JobUID, By: by, Revision: run.Revision,
	})
}

// jobLives refuses what needs the definition of a job that was deleted: the engine would do nothing, without a word.
func (s *Service) jobLives(ctx context.Context, run *engine.Run) error {
	living, err := s.store.Jobs().Get(ctx, run.Namespace, run.Job)
	if errors.Is(err, engine.ErrNotFound) || err == nil && living.UID != run.JobUID {
		return conflict("job_deleted", "the job %q of run %s was deleted: its runs cannot be tried again", run.Job, run.ID)
	}
	if err != nil {
		return fmt.Errorf("read job %s: %w", run.Job, err)
	}
	return nil
}
