package service

import (
	"context"
	"errors"
	"fmt"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
)

// CancelWave asks the engine to end a wave: tasks that have not begun do not begin, running ones are asked to end. It
// returns as soon as the request is durable; the wave ends a moment later.
func (s *Service) CancelWave(ctx context.Context, namespace, id, by string) (engine.Wave, error) {
	wave, err := s.Wave(ctx, namespace, id)
	if err != nil {
		return engine.Wave{}, err
	}
	if wave.Status.Terminal() {
		return wave, conflict("wave_ended", "wave %s has ended (%s): there is nothing to cancel", id, wave.Status)
	}
	return wave, s.command(ctx, engine.Command{
		ID: id + "-cancel", Kind: engine.CommandCancelWave, RunID: id, JobUID: wave.DAGUID, By: by, At: s.after(wave.CreatedAt),
	})
}

// ResumeWave asks the engine to resume a wave that failed or was cancelled: what succeeded stays, the rest is run
// again, on the generation that the wave began with. Where another wave is open it waits for its end.
func (s *Service) ResumeWave(ctx context.Context, namespace, id, by string) (engine.Wave, error) {
	wave, err := s.Wave(ctx, namespace, id)
	if err != nil {
		return engine.Wave{}, err
	}
	switch {
	case !wave.Status.Terminal():
		return wave, conflict("wave_open", "wave %s is %s: it can be resumed once it has ended", id, wave.Status)
	case wave.Status == engine.StatusSucceeded:
		return wave, conflict("wave_succeeded", "wave %s succeeded: to repeat it, start a new wave with `tidewheel run %s`", id, wave.DAG)
	}
	if err := s.canReopen(ctx, &wave); err != nil {
		return wave, err
	}
	return wave, s.command(ctx, engine.Command{
		ID: fmt.Sprintf("%s-resume-%d", id, wave.Revision), Kind: engine.CommandResumeWave, RunID: id, JobUID: wave.DAGUID, By: by, Revision: wave.Revision,
	})
}

// canReopen reports whether a wave that has ended can be resumed.
func (s *Service) canReopen(ctx context.Context, wave *engine.Wave) error {
	if wave.Epoch == 0 {
		return conflict("wave_never_began", "wave %s was %s before it began: start a new one with `tidewheel run %s`", wave.ID, wave.Status, wave.DAG)
	}
	living, err := s.store.DAGs().Get(ctx, wave.Namespace, wave.DAG)
	if errors.Is(err, engine.ErrNotFound) || err == nil && living.UID != wave.DAGUID {
		return conflict("dag_deleted", "the DAG %q of wave %s was deleted: its waves cannot be resumed", wave.DAG, wave.ID)
	}
	if err != nil {
		return fmt.Errorf("read DAG %s: %w", wave.DAG, err)
	}
	return nil
}

// MarkTask asks the engine to let a task of a wave count as succeeded, failed or skipped, without executing it, and to go
// on with the wave. In an open wave it is a task that waits; in one that has ended badly, one that did not succeed.
func (s *Service) MarkTask(ctx context.Context, namespace, id, task string, as engine.Status, by string) (engine.Wave, error) {
	switch as {
	case engine.StatusSucceeded, engine.StatusFailed, engine.StatusSkipped:
	default:
		return engine.Wave{}, field("invalid_mark", "body.as", "a task can be marked as succeeded, failed or skipped, not %s", as)
	}
	detail, err := s.WaveDetail(ctx, namespace, id)
	if err != nil {
		return engine.Wave{}, err
	}
	wave := &detail.Wave
	at, known := detail.Task(task)
	if !known {
		return *wave, field("task_not_found", "body.task", "wave %s has no task %q", id, task)
	}
	switch {
	case !wave.Status.Terminal():
		err = markableOpen(wave, at)
	case wave.Status == engine.StatusSucceeded:
		err = conflict("wave_succeeded", "wave %s succeeded: there is nothing to resume", id)
	case as == engine.StatusFailed:
		err = conflict("mark_failed_again", "wave %s has ended, and a resume runs what failed again: mark %s as succeeded or skipped, or resume the wave", id, task)
	case at.State == dag.Succeeded:
		err = conflict("task_succeeded", "task %s of wave %s succeeded, and stays so", task, id)
	case at.Items != nil:
		err = conflict("task_mapped", "task %s of wave %s runs over a list: its items cannot be marked; resume the wave, and those that failed are run again", task, id)
	default:
		err = s.canReopen(ctx, wave)
	}
	if err != nil {
		return *wave, err
	}
	return *wave, s.command(ctx, engine.Command{
		ID: fmt.Sprintf("%s-mark-%d-%s-%s", id, wave.Revision, as, task), Kind: engine.CommandMarkTask, RunID: id, JobUID: wave.DAGUID, By: by,
		Revision: wave.Revision, Task: task, Mark: as,
	})
}

// markableOpen reports whether a task of an open wave can be marked: no executor must be executing it.
func markableOpen(wave *engine.Wave, task *WaveTask) error {
	switch {
	case wave.Status == engine.StatusScheduled:
		return conflict("wave_not_begun", "wave %s has not begun: mark its tasks once it has", wave.ID)
	case task.State == dag.Running:
		return conflict("task_running", "task %s is running: cancel its run first", task.Name)
	case task.State.Ended():
		return conflict("task_ended", "task %s has ended (%s): mark it once its wave has ended, if that fails", task.Name, task.State)
	}
	return nil
}

// retryTask resumes the wave of a task's run that ended badly.
func (s *Service) retryTask(ctx context.Context, run *engine.Run, by string) error {
	wave, err := s.Wave(ctx, run.Namespace, run.Wave)
	if err != nil {
		return err
	}
	if !wave.Status.Terminal() {
		return conflict("wave_open", "run %s is of a wave that is %s: it can be tried again once wave %s has ended; `tidewheel describe wave %[3]s` shows it",
			run.ID, wave.Status, wave.ID)
	}
	_, err = s.ResumeWave(ctx, run.Namespace, wave.ID, by)
	return err
}
