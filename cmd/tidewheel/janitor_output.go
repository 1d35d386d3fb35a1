package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/blob"
	"github.com/tidewheel/tidewheel/engine"
)

// removedRuns removes what is kept beside runs that are gone.
func (j *janitor) removedRuns(ctx context.Context, expired *engine.ExpiredRuns) {
	for i := range expired.Beside {
		j.deleteLogs(ctx, &expired.Beside[i])
		j.deleteArtifacts(ctx, &expired.Beside[i])
		j.deleteLetter(ctx, &expired.Beside[i])
	}
	j.metrics.expired.WithLabelValues("run").Add(float64(expired.Count))
}

// deleteLetter removes the dead letter of a run with the run. One that a crash leaves goes by its age.
func (j *janitor) deleteLetter(ctx context.Context, run *engine.Run) {
	if run.Status != engine.StatusDead {
		return
	}
	switch err := j.store.DeleteDeadLetter(ctx, run.ID); {
	case err == nil:
		j.metrics.expired.WithLabelValues("dead_letter").Inc()
	case !errors.Is(err, engine.ErrNotFound):
		j.log.Warn("the dead letter of a removed run could not be removed", "run", run.ID, "error", err)
	}
}

// deleteLogs removes the output of a run that had any in S3.
func (j *janitor) deleteLogs(ctx context.Context, run *engine.Run) {
	for i := range run.Attempts {
		// An attempt that was lost has no result, and may have stored output all the same.
		if output := run.Attempts[i].Output; output == nil || output.Chunks > 0 {
			bytes, err := j.blobs.DeleteLogs(ctx, run.ID)
			if err != nil {
				j.log.Warn("the output of a removed run could not be removed", "run", run.ID, "error", err)
			}
			j.stored.add(run.Namespace, -bytes)
			return
		}
	}
}

// deleteArtifacts removes the files that a run has left. Those of attempts that did not come to report theirs are found by
// sweepOutput.
func (j *janitor) deleteArtifacts(ctx context.Context, run *engine.Run) {
	if len(run.Artifacts) == 0 {
		return
	}
	bytes, err := j.blobs.DeleteArtifacts(ctx, run.ID)
	if err != nil {
		j.log.Warn("the artifacts of a removed run could not be removed", "run", run.ID, "error", err)
	}
	j.stored.add(run.Namespace, -bytes)
}

// sweepOutput removes what nobody wants any more of what runs have in S3: of runs that ended longer ago than their output is kept, and
// of runs that are gone. Of those a janitor crashed before it came to it, or no run ever recorded the artifact. Where neither is ever
// removed, it does nothing.
func (j *janitor) sweepOutput(ctx context.Context) error {
	found, err := j.readRules(ctx)
	if err != nil || !found.remove(j.keep.History) && j.keep.Output == 0 {
		return err
	}
	began := time.Now()
	unwanted := func(ctx context.Context, ids []string) (map[string]time.Time, error) {
		if err := j.breathe(ctx, j.breath(time.Since(began), true)); err != nil { // S3 does most of the work
			return nil, err
		}
		began = time.Now()
		return j.unwanted(ctx, found, ids)
	}
	for _, folder := range []blob.Folder{blob.Logs, blob.Artifacts} {
		runs, failed := j.blobs.SweepRuns(ctx, folder, unwanted)
		if runs > 0 {
			j.log.Info("removed old output from S3", "folder", folder, "runs", runs)
		}
		j.metrics.expired.WithLabelValues("output").Add(float64(runs))
		err = errors.Join(err, failed)
	}
	return err
}

// unwanted returns of some runs those whose output and artifacts go, with an instant since which none of it may have been written. A
// wave that goes on may still need what its tasks have left.
func (j *janitor) unwanted(ctx context.Context, found *rules, ids []string) (map[string]time.Time, error) {
	runs, err := j.store.RunsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	gone := j.now().Add(-cmp.Or(j.keep.History, sweepEvery))
	unwanted := make(map[string]time.Time, len(ids))
	for _, id := range ids {
		unwanted[id] = gone
	}
	dags, waves := map[string]bool{}, map[string]string{} // of runs by their ids
	for i := range runs {
		run := &runs[i]
		delete(unwanted, run.ID)
		age := found.outputAge(run, j.keep.Output)
		if before := j.now().Add(-age); age > 0 && endedBefore(run, before) {
			unwanted[run.ID] = before
			if run.Wave != "" {
				dags[run.JobUID], waves[run.ID] = true, run.Wave
			}
		}
	}
	open, err := j.openWaves(ctx, dags)
	for id, wave := range waves {
		if open[wave] {
			delete(unwanted, id)
		}
	}
	return unwanted, err
}

func endedBefore(run *engine.Run, before time.Time) bool {
	return run.Status.Terminal() && run.FinishedAt.Before(before)
}

// openWaves returns the waves of some DAGs that have not ended, by their ids.
func (j *janitor) openWaves(ctx context.Context, dags map[string]bool) (map[string]bool, error) {
	if len(dags) == 0 {
		return nil, nil
	}
	waves, err := j.store.OpenWavesOf(ctx, slices.Collect(maps.Keys(dags)))
	open := make(map[string]bool, len(waves))
	for i := range waves {
		open[waves[i].ID] = true
	}
	return open, err
}
