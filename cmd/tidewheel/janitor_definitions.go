package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// definitionSweeper is what a look at all definitions needs of a store.
type definitionSweeper interface {
	Jobs() engine.Definitions[spec.Job]
	DAGs() engine.Definitions[spec.DAG]
	TasksByID(ctx context.Context, ids []string) ([]engine.ScheduledTask, error)
	ActiveRunsOf(ctx context.Context, uids []string) ([]engine.Run, error)
	LatestMarks(ctx context.Context, uids []string, limit, timed int) (map[string][]engine.RunMark, error)
	TasksOfDAGs(ctx context.Context, uids []string) ([]engine.ScheduledTask, error)
	OpenWavesOf(ctx context.Context, uids []string) ([]engine.Wave, error)

	Binaries(ctx context.Context, namespace, cursor string, limit int) (binaries []engine.Binary, next string, err error)
	ActiveRuns(ctx context.Context, shards []int, after string, limit int) ([]engine.Run, error)
}

// sweeperName is who has deleted a one-off job.
const sweeperName = "retention"

// sweepDefinitions looks at all jobs and DAGs: one-off jobs go some time after they have run, and versions that an edit has
// replaced when no run of them is kept any more.
func (j *janitor) sweepDefinitions(ctx context.Context) error {
	if j.keep.OneOff == 0 && j.keep.Generations == 0 {
		return nil
	}
	found, err := j.readRules(ctx)
	if err != nil {
		return err
	}
	oneOffs, generations := 0, 0
	defer func() {
		if oneOffs+generations > 0 {
			j.log.Info("removed old one-off jobs and earlier versions of definitions", "jobs", oneOffs, "generations", generations)
		}
	}()
	if err := eachOf(ctx, j, j.store.Jobs(), janitorBatch, func(jobs []engine.Job) error {
		n, err := j.removeOneOffs(ctx, jobs)
		oneOffs += n
		if err == nil {
			n, err = dropVersions(ctx, j, found, j.store.Jobs(), jobs, j.store.TasksByID)
			generations += n
		}
		return err
	}); err != nil {
		return err
	}
	return eachOf(ctx, j, j.store.DAGs(), dagsAtOnce, func(dags []engine.DAG) error {
		n, err := dropVersions(ctx, j, found, j.store.DAGs(), dags, j.store.TasksOfDAGs)
		generations += n
		return err
	})
}

// dagsAtOnce is fewer than janitorBatch: a DAG may have thousands of tasks.
const dagsAtOnce = 20

// eachOf calls for the definitions of all namespaces, some at a time.
func eachOf[S engine.Spec](ctx context.Context, j *janitor, of engine.Definitions[S], atOnce int, each func([]engine.Definition[S]) error) error {
	return walk(ctx, j, func(cursor string) ([]engine.Definition[S], string, error) {
		return of.List(ctx, engine.DefinitionFilter{Cursor: cursor, Limit: atOnce})
	}, each)
}

// walk calls for all pages of a list, and takes no more of the time than its share.
func walk[T any](ctx context.Context, j *janitor, page func(cursor string) ([]T, string, error), each func([]T) error) error {
	for cursor := ""; ; {
		began := time.Now()
		items, next, err := page(cursor)
		if err == nil {
			err = each(items)
		}
		if err != nil || next == "" {
			return err
		}
		cursor = next
		if err := j.breathe(ctx, j.breath(time.Since(began), false)); err != nil {
			return err
		}
	}
}

// removeOneOffs deletes the one-off jobs among some that have run, or whose only slot was passed over, long enough ago.
// One that was edited belongs to its editor.
func (j *janitor) removeOneOffs(ctx context.Context, jobs []engine.Job) (removed int, err error) {
	if j.keep.OneOff == 0 {
		return 0, nil
	}
	before := j.now().Add(-j.keep.OneOff)
	due := map[string]*engine.Job{}
	var uids []string
	for i := range jobs {
		job := &jobs[i]
		if job.OneOff && job.Generation == 1 && !job.Pending && !job.Paused && job.Spec.At != nil && job.Spec.At.Before(before) {
			due[job.UID] = job
			uids = append(uids, job.UID)
		}
	}
	if len(due) == 0 {
		return 0, nil
	}
	active, err := j.store.ActiveRunsOf(ctx, uids)
	if err != nil {
		return 0, fmt.Errorf("look for runs of one-off jobs: %w", err)
	}
	for i := range active {
		delete(due, active[i].JobUID)
	}
	planned, err := j.store.TasksByID(ctx, uids)
	if err != nil {
		return 0, fmt.Errorf("look for what is planned of one-off jobs: %w", err)
	}
	for i := range planned {
		if planned[i].RunAt.Before(engine.Parked) {
			delete(due, planned[i].ID)
		}
	}
	latest, err := j.store.LatestMarks(ctx, uids, 1, 1)
	if err != nil {
		return 0, fmt.Errorf("look for the last runs of one-off jobs: %w", err)
	}
	for uid, marks := range latest {
		if len(marks) > 0 && (!marks[0].FinishedAt.Before(before) || !marks[0].CreatedAt.Before(before)) {
			delete(due, uid)
		}
	}
	for _, uid := range uids {
		if due[uid] == nil {
			continue
		}
		gone, err := j.removeOneOff(ctx, due[uid])
		if err != nil {
			return removed, err
		}
		if gone {
			removed++
			j.metrics.expired.WithLabelValues("one_off").Inc()
		}
	}
	return removed, nil
}

// removeOneOff deletes a job, unless it was changed since it was looked at. The engine does the rest.
func (j *janitor) removeOneOff(ctx context.Context, seen *engine.Job) (bool, error) {
	job, err := j.store.Jobs().Get(ctx, seen.Namespace, seen.Name)
	if errors.Is(err, engine.ErrNotFound) || err == nil && (job.UID != seen.UID || job.Revision != seen.Revision) {
		return false, nil
	}
	if err == nil {
		job.Deleted, job.Pending, job.UpdatedBy = true, true, sweeperName
		job.Revision++
		err = j.store.Jobs().Replace(ctx, job)
	}
	if errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("delete one-off job %s: %w", seen.Key(), err)
	}
	return true, nil
}

// droppable returns the generation below which all versions of a definition were replaced before an instant.
func droppable[S engine.Spec](ctx context.Context, of engine.Definitions[S], d *engine.Definition[S], before time.Time) (int64, error) {
	var next engine.GenerationOf[S] // the version after the one that is looked at
	for below := d.Generation + 1; below > 1; {
		versions, err := of.Generations(ctx, d.UID, below, janitorBatch)
		if err != nil || len(versions) == 0 {
			return 0, err
		}
		for _, version := range versions {
			if next.Generation > 0 && next.At.Before(before) {
				return version.Generation + 1, nil
			}
			next = version
		}
		below = next.Generation
	}
	return 0, nil
}

// dropVersions deletes the earlier versions of definitions that no run is kept of, and counts them. An open wave ends on the version
// that it began with; a job has none. planned returns what is planned of definitions.
func dropVersions[S engine.Spec](
	ctx context.Context, j *janitor, found *rules, of engine.Definitions[S], definitions []engine.Definition[S],
	planned func(ctx context.Context, uids []string) ([]engine.ScheduledTask, error),
) (dropped int, err error) {
	for i := range definitions {
		d := &definitions[i]
		age := j.keep.versions(found.age(d.Namespace, d.Retention(), j.keep.History))
		if age == 0 || d.Generation == 1 || d.Pending {
			continue
		}
		below, err := droppable(ctx, of, d, j.now().Add(-age))
		if err == nil && below > 0 {
			below, err = j.firstUsed(ctx, d.UID, below, planned)
		}
		if err != nil {
			return dropped, err
		}
		if below <= 1 {
			continue
		}
		n, err := of.DropGenerations(ctx, d.UID, below)
		j.metrics.expired.WithLabelValues("generation").Add(float64(n))
		if dropped += n; err != nil {
			return dropped, err
		}
	}
	return dropped, nil
}

// firstUsed lowers a generation to the earliest one that something under way of a definition was made of.
func (j *janitor) firstUsed(
	ctx context.Context, uid string, below int64, planned func(ctx context.Context, uids []string) ([]engine.ScheduledTask, error),
) (int64, error) {
	waves, err := j.store.OpenWavesOf(ctx, []string{uid})
	if err != nil {
		return 0, err
	}
	runs, err := j.store.ActiveRunsOf(ctx, []string{uid})
	if err != nil {
		return 0, err
	}
	tasks, err := planned(ctx, []string{uid})
	if err != nil {
		return 0, err
	}
	return firstUsed(below, runs, waves, tasks), nil
}

// firstUsed lowers a generation to the earliest one that something under way was made of.
func firstUsed(below int64, runs []engine.Run, waves []engine.Wave, tasks []engine.ScheduledTask) int64 {
	var used []int64
	for i := range runs {
		used = append(used, runs[i].Generation)
	}
	for i := range waves {
		used = append(used, waves[i].Generation)
	}
	for i := range tasks {
		used = append(used, tasks[i].Generation)
	}
	used = slices.DeleteFunc(used, func(generation int64) bool { return generation == 0 }) // it will be the current one
	return slices.Min(append(used, below))
}
