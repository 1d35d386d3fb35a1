package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// definitionSweeper is what a look at all definitions needs of a store.
type definitionSweeper interface {
	Jobs(ctx context.Context, filter engine.JobFilter) (jobs []engine.Job, next string, err error)
	Job(ctx context.Context, namespace, name string) (engine.Job, error)
	ReplaceJob(ctx context.Context, job engine.Job) error
	TasksByID(ctx context.Context, ids []string) ([]engine.ScheduledTask, error)
	ActiveRunsOf(ctx context.Context, uids []string) ([]engine.Run, error)
	LatestMarks(ctx context.Context, uids []string, limit, timed int) (map[string][]engine.RunMark, error)
	Generations(ctx context.Context, uid string, before int64, limit int) ([]engine.Generation, error)
	DropGenerations(ctx context.Context, uid string, below int64) (int, error)

	DAGs(ctx context.Context, filter engine.DAGFilter) (dags []engine.DAG, next string, err error)
	TasksOfDAGs(ctx context.Context, uids []string) ([]engine.ScheduledTask, error)
	OpenWavesOf(ctx context.Context, uids []string) ([]engine.Wave, error)
	DAGGenerations(ctx context.Context, uid string, before int64, limit int) ([]engine.DAGGeneration, error)
	DropDAGGenerations(ctx context.Context, uid string, below int64) (int, error)

	Binaries(ctx context.Context, namespace, cursor string, limit int) (binaries []engine.Binary, next string, err error)
	ActiveRuns(ctx context.Context, shards []int, after string, limit int) ([]engine.Run, error)
}

// sweeperName is who has deleted a one-off job.
const sweeperName = "retention"

// sweepDefinitions looks at all jobs and DAGs: one-off jobs go some time after they have run, and forms that an edit has
// replaced when no run of them is kept any more.
func (j *janitor) sweepDefinitions(ctx context.Context) error {
	if j.keep.OneOff == 0 && j.keep.forms() == 0 {
		return nil
	}
	oneOffs, generations := 0, 0
	defer func() {
		if oneOffs+generations > 0 {
			j.log.Info("removed old one-off jobs and earlier forms of definitions", "jobs", oneOffs, "generations", generations)
		}
	}()
	if err := j.eachJob(ctx, func(jobs []engine.Job) error {
		n, err := j.removeOneOffs(ctx, jobs)
		oneOffs += n
		for i := 0; i < len(jobs) && err == nil; i++ {
			n, err = dropForms(ctx, j, j.formsOfJob(&jobs[i]))
			generations += n
		}
		return err
	}); err != nil {
		return err
	}
	return j.eachDAG(ctx, func(dags []engine.DAG) error {
		for i := range dags {
			n, err := dropForms(ctx, j, j.formsOfDAG(&dags[i]))
			if generations += n; err != nil {
				return err
			}
		}
		return nil
	})
}

// eachJob calls for the jobs of all namespaces, some at a time, and takes no more of the time than its share.
func (j *janitor) eachJob(ctx context.Context, each func([]engine.Job) error) error {
	return walk(ctx, j, func(cursor string) ([]engine.Job, string, error) {
		return j.store.Jobs(ctx, engine.JobFilter{Cursor: cursor, Limit: janitorBatch})
	}, each)
}

func (j *janitor) eachDAG(ctx context.Context, each func([]engine.DAG) error) error {
	return walk(ctx, j, func(cursor string) ([]engine.DAG, string, error) {
		return j.store.DAGs(ctx, engine.DAGFilter{Cursor: cursor, Limit: dagsAtOnce})
	}, each)
}

// dagsAtOnce is fewer than janitorBatch: a DAG may have thousands of tasks.
const dagsAtOnce = 20

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
		if err := j.breathe(ctx, breath(time.Since(began), false)); err != nil {
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
	job, err := j.store.Job(ctx, seen.Namespace, seen.Name)
	if errors.Is(err, engine.ErrNotFound) || err == nil && (job.UID != seen.UID || job.Revision != seen.Revision) {
		return false, nil
	}
	if err == nil {
		job.Deleted, job.Pending, job.UpdatedBy = true, true, sweeperName
		job.Revision++
		err = j.store.ReplaceJob(ctx, job)
	}
	if errors.Is(err, engine.ErrNotFound) || errors.Is(err, engine.ErrConflict) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("delete one-off job %s: %w", seen.Key(), err)
	}
	return true, nil
}

// written is a form of a definition, and when it was written.
type written struct {
	generation int64
	at         time.Time
}

// droppable returns the generation below which all forms were replaced before an instant; page lists the forms below
// another, the newest first.
func droppable(present int64, before time.Time, page func(below int64) ([]written, error)) (int64, error) {
	var next written // the form after the one that is looked at
	for below := present + 1; below > 1; {
		forms, err := page(below)
		if err != nil || len(forms) == 0 {
			return 0, err
		}
		for _, form := range forms {
			if next.generation > 0 && next.at.Before(before) {
				return form.generation + 1, nil
			}
			next = form
		}
		below = next.generation
	}
	return 0, nil
}

// definition is a job or a DAG of which earlier forms of type F may be dropped.
type definition[F any] struct {
	uid        string
	generation int64
	pending    bool
	forms      func(ctx context.Context, uid string, before int64, limit int) ([]F, error)
	written    func(*F) written
	tasks      func(ctx context.Context, uids []string) ([]engine.ScheduledTask, error)
	drop       func(ctx context.Context, uid string, below int64) (int, error)
}

func (j *janitor) formsOfJob(job *engine.Job) definition[engine.Generation] {
	return definition[engine.Generation]{
		uid: job.UID, generation: job.Generation, pending: job.Pending, forms: j.store.Generations,
		written: func(form *engine.Generation) written { return written{form.Generation, form.At} },
		tasks:   j.store.TasksByID, drop: j.store.DropGenerations,
	}
}

func (j *janitor) formsOfDAG(dag *engine.DAG) definition[engine.DAGGeneration] {
	return definition[engine.DAGGeneration]{
		uid: dag.UID, generation: dag.Generation, pending: dag.Pending, forms: j.store.DAGGenerations,
		written: func(form *engine.DAGGeneration) written { return written{form.Generation, form.At} },
		tasks:   j.store.TasksOfDAGs, drop: j.store.DropDAGGenerations,
	}
}

// dropForms deletes the earlier forms of a definition that no run is kept of, and counts them. An open wave ends on the
// form that it began with; a job has none.
func dropForms[F any](ctx context.Context, j *janitor, of definition[F]) (int, error) {
	age := j.keep.forms()
	if age == 0 || of.generation == 1 || of.pending {
		return 0, nil
	}
	below, err := droppable(of.generation, j.now().Add(-age), func(below int64) ([]written, error) {
		forms, err := of.forms(ctx, of.uid, below, janitorBatch)
		found := make([]written, len(forms))
		for i := range forms {
			found[i] = of.written(&forms[i])
		}
		return found, err
	})
	if err != nil || below == 0 {
		return 0, err
	}
	waves, err := j.store.OpenWavesOf(ctx, []string{of.uid})
	if err != nil {
		return 0, err
	}
	runs, err := j.store.ActiveRunsOf(ctx, []string{of.uid})
	if err != nil {
		return 0, err
	}
	tasks, err := of.tasks(ctx, []string{of.uid})
	if err != nil {
		return 0, err
	}
	return j.drop(ctx, of.uid, firstUsed(below, runs, waves, tasks), of.drop)
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
	used = slices.DeleteFunc(used, func(generation int64) bool { return generation == 0 }) // it will be the present one
	return slices.Min(append(used, below))
}

func (j *janitor) drop(ctx context.Context, uid string, below int64, drop func(context.Context, string, int64) (int, error)) (int, error) {
	if below <= 1 {
		return 0, nil
	}
	n, err := drop(ctx, uid, below)
	j.metrics.expired.WithLabelValues("generation").Add(float64(n))
	return n, err
}
