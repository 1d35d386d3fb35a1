package shard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/spec"
)

// Loader reads from the store what the machine asks for. It holds no state; the simulator uses it too.
type Loader struct{ Store Store }

// recoverPage is how many ids of runs, or waves, are read at one time.
const recoverPage = 10_000

// Recover finds the jobs and DAGs of these shards of which a run or a wave has not ended, in the order of their uids. The
// caller owns the shards: no other engine starts or ends runs meanwhile.
func (l Loader) Recover(ctx context.Context, shards []int) ([]Active, error) {
	active := map[string]*Active{}
	note := func(uid string, slot time.Time) *Active {
		a := active[uid]
		if a == nil {
			a = &Active{UID: uid}
			active[uid] = a
		}
		if slot.After(a.Slot) {
			a.Slot = slot
		}
		return a
	}
	err := eachPage(ctx, shards, l.Store.ActiveRunIDs, func(id *string) string {
		note(engine.RunJob(*id), engine.RunSlot(*id)).Runs++
		return *id
	})
	if err != nil {
		return nil, fmt.Errorf("recover active runs: %w", err)
	}
	err = eachPage(ctx, shards, l.Store.OpenWaves, func(wave *engine.Wave) string {
		note(wave.DAGUID, wave.Slot)
		return wave.ID
	})
	if err != nil {
		return nil, fmt.Errorf("recover open waves: %w", err)
	}
	list := make([]Active, 0, len(active))
	for _, uid := range slices.Sorted(maps.Keys(active)) {
		list = append(list, *active[uid])
	}
	return list, nil
}

// Incidents reads all incidents of these shards.
func (l Loader) Incidents(ctx context.Context, shards []int) (all []engine.Incident, err error) {
	err = eachPage(ctx, shards, l.Store.Incidents, func(incident *engine.Incident) string {
		all = append(all, *incident)
		return incident.ID
	})
	if err != nil {
		return nil, fmt.Errorf("recover incidents: %w", err)
	}
	return all, nil
}

// addRun adds a run to those of its job. Those of tasks are read with their DAG; of one that has gone meanwhile they are no
// job's.
func addRun(byJob map[string][]engine.Run, run *engine.Run) {
	if run.Task == "" {
		byJob[run.JobUID] = append(byJob[run.JobUID], *run)
	}
}

// eachPage reads a list by pages; each returns the id of what it is called for.
func eachPage[T any](
	ctx context.Context, shards []int, read func(ctx context.Context, shards []int, after string, limit int) ([]T, error), each func(*T) (id string),
) error {
	for after := ""; ; {
		page, err := read(ctx, shards, after, recoverPage)
		if err != nil {
			return err
		}
		for i := range page {
			after = each(&page[i])
		}
		if len(page) < recoverPage {
			return nil
		}
	}
}

// Jobs reads these jobs with all that concerns them now. A uid that means nothing any more gives an empty snapshot.
func (l Loader) Jobs(ctx context.Context, uids []string) (core.JobsLoaded, error) {
	tasks, err := l.Store.TasksByID(ctx, uids)
	if err != nil {
		return core.JobsLoaded{}, fmt.Errorf("load scheduled tasks: %w", err)
	}
	runs, err := l.Store.ActiveRunsOf(ctx, uids)
	if err != nil {
		return core.JobsLoaded{}, fmt.Errorf("load active runs: %w", err)
	}
	byJob := map[string][]engine.Run{}
	for i := range runs {
		addRun(byJob, &runs[i])
	}
	return l.assemble(ctx, uids, tasks, byJob)
}

func (l Loader) assemble(ctx context.Context, uids []string, tasks []engine.ScheduledTask, runs map[string][]engine.Run) (core.JobsLoaded, error) {
	jobs, err := l.Store.JobsByUID(ctx, uids)
	if err != nil {
		return core.JobsLoaded{}, fmt.Errorf("load jobs: %w", err)
	}
	jobOf := make(map[string]*engine.Job, len(jobs))
	for i := range jobs {
		jobOf[jobs[i].UID] = &jobs[i]
	}
	taskOf := make(map[string]*engine.ScheduledTask, len(tasks))
	for i := range tasks {
		taskOf[tasks[i].ID] = &tasks[i]
	}
	dags, err := l.others(ctx, uids, jobOf)
	if err != nil {
		return core.JobsLoaded{}, err
	}
	loaded := core.JobsLoaded{Jobs: make([]core.JobSnapshot, 0, len(uids))}
	var keys []string
	wanted := map[string]bool{}
	for _, uid := range uids {
		if dag := dags[uid]; dag != nil {
			loaded.DAGs = append(loaded.DAGs, *dag)
			for _, key := range binariesOf(dag) {
				if !wanted[key] {
					wanted[key] = true
					keys = append(keys, key)
				}
			}
			continue
		}
		s := core.JobSnapshot{UID: uid, Job: jobOf[uid], Task: taskOf[uid], Runs: runs[uid]}
		if s.Job != nil {
			if ref, err := s.Job.Spec.Binding(); err == nil && ref.Name != "" {
				if key := s.Job.Namespace + "/" + ref.Name; !wanted[key] {
					wanted[key] = true
					keys = append(keys, key)
				}
			}
			if s.Specs, err = l.earlier(ctx, &s, nil); err != nil {
				return core.JobsLoaded{}, err
			}
			if s.Had, err = l.had(ctx, s.Job); err != nil {
				return core.JobsLoaded{}, err
			}
		}
		loaded.Jobs = append(loaded.Jobs, s)
	}
	if len(keys) > 0 {
		if loaded.Binaries, err = l.Store.BinariesByKey(ctx, keys); err != nil {
			return core.JobsLoaded{}, fmt.Errorf("load binaries: %w", err)
		}
	}
	return loaded, nil
}

// others reads those of the uids that are not jobs: most often there are none.
func (l Loader) others(ctx context.Context, uids []string, jobs map[string]*engine.Job) (map[string]*core.DAGSnapshot, error) {
	var rest []string
	for _, uid := range uids {
		if jobs[uid] == nil {
			rest = append(rest, uid)
		}
	}
	if len(rest) == 0 {
		return nil, nil
	}
	return l.dags(ctx, rest)
}

// earlier reads the generations that the snapshot's task and runs, and one more run, were made of, where they differ
// from the present.
func (l Loader) earlier(ctx context.Context, s *core.JobSnapshot, also *engine.Run) (map[int64]spec.Job, error) {
	var specs map[int64]spec.Job
	need := func(generation int64) error {
		if generation == 0 || generation == s.Job.Generation {
			return nil
		}
		if _, have := specs[generation]; have {
			return nil
		}
		earlier, err := earlierSpec(ctx, l.Store.Generation, s.UID, generation)
		if err != nil || earlier == nil {
			return err
		}
		if specs == nil {
			specs = map[int64]spec.Job{}
		}
		specs[generation] = *earlier
		return nil
	}
	if s.Task != nil {
		if err := need(s.Task.Generation); err != nil {
			return nil, err
		}
	}
	if also != nil {
		if err := need(also.Generation); err != nil {
			return nil, err
		}
	}
	for i := range s.Runs {
		if err := need(s.Runs[i].Generation); err != nil {
			return nil, err
		}
	}
	return specs, nil
}

// had reports whether the moment of a job that was edited has a run.
func (l Loader) had(ctx context.Context, job *engine.Job) (bool, error) {
	if job.Spec.At == nil || !job.Pending || job.Generation == 1 {
		return false, nil
	}
	runs, err := l.Store.RunsByID(ctx, []string{engine.SlotRunID(job.UID, *job.Spec.At)})
	if err != nil {
		return false, fmt.Errorf("look for the run of the moment of job %s: %w", job.UID, err)
	}
	return len(runs) > 0, nil
}

// earlierSpec reads an earlier generation of a definition, nil where it is not kept any more: then the current one stands in.
func earlierSpec[S engine.Spec](
	ctx context.Context, read func(ctx context.Context, uid string, generation int64) (engine.GenerationOf[S], error), uid string, generation int64,
) (*S, error) {
	version, err := read(ctx, uid, generation)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load generation %d of %s: %w", generation, uid, err)
	}
	definition := version.Spec // by itself: the rest of the record is not to be held
	return &definition, nil
}

// Due returns the uids of the jobs of these shards whose tasks are due in (after, until], the earliest first.
func (l Loader) Due(ctx context.Context, shards []int, after, until time.Time) ([]string, error) {
	tasks, err := l.Store.DueTasks(ctx, shards, after, until)
	if err != nil {
		return nil, fmt.Errorf("poll due tasks: %w", err)
	}
	uids := make([]string, 0, len(tasks))
	seen := map[string]bool{} // a DAG has a task for each of its roots
	for i := range tasks {
		uid, _, root := strings.Cut(tasks[i].ID, "-")
		if root && seen[uid] {
			continue
		}
		seen[uid] = root
		uids = append(uids, uid)
	}
	return uids, nil
}

// sweepPage bounds what one sweep brings.
const sweepPage = 2000

// Sweep looks for jobs and commands of these shards that the engine has not acted upon.
func (l Loader) Sweep(ctx context.Context, shards []int) (Swept, error) {
	var swept Swept
	jobs, err := l.Store.PendingJobs(ctx, shards, sweepPage)
	if err != nil {
		return swept, fmt.Errorf("sweep pending jobs: %w", err)
	}
	for i := range jobs {
		swept.Pending = append(swept.Pending, jobs[i].UID)
	}
	dags, err := l.Store.PendingDAGs(ctx, shards, sweepPage)
	if err != nil {
		return swept, fmt.Errorf("sweep pending DAGs: %w", err)
	}
	for i := range dags {
		swept.Pending = append(swept.Pending, dags[i].UID)
	}
	if swept.Commands, err = l.Store.Commands(ctx, shards, sweepPage); err != nil {
		return swept, fmt.Errorf("sweep commands: %w", err)
	}
	swept.More = len(jobs) == sweepPage || len(dags) == sweepPage || len(swept.Commands) == sweepPage
	return swept, nil
}

// Commands reads what commands about one job or DAG are about.
func (l Loader) Commands(ctx context.Context, commands []engine.Command) ([]core.CommandReceived, error) {
	loaded, err := l.Jobs(ctx, []string{commands[0].JobUID})
	if err != nil {
		return nil, err
	}
	runs, err := l.Store.RunsByID(ctx, runsOf(commands))
	if err != nil {
		return nil, fmt.Errorf("load the runs of commands: %w", err)
	}
	all := make([]core.CommandReceived, len(commands))
	for i, command := range commands {
		out := &all[i]
		out.Command, out.Binaries = command, loaded.Binaries
		if len(loaded.DAGs) > 0 {
			out.DAG = &loaded.DAGs[0]
		} else {
			out.Snapshot = loaded.Jobs[0]
		}
		if command.Kind.AboutWave() {
			if err := l.waveCommand(ctx, out); err != nil {
				return nil, err
			}
			continue
		}
		at := slices.IndexFunc(runs, func(run engine.Run) bool { return run.ID == command.RunID })
		if at < 0 {
			continue
		}
		out.Run = &runs[at]
		if out.Snapshot.Job != nil { // a run that has ended is retried as what it was
			if out.Snapshot.Specs, err = l.earlier(ctx, &out.Snapshot, out.Run); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// runsOf names the runs that commands are about.
func runsOf(commands []engine.Command) []string {
	var ids []string
	for i := range commands {
		if id := commands[i].RunID; id != "" && !commands[i].Kind.AboutWave() && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Binaries reads binaries again.
func (l Loader) Binaries(ctx context.Context, keys []string) (core.BinariesChanged, error) {
	found, err := l.Store.BinariesByKey(ctx, keys)
	if err != nil {
		return core.BinariesChanged{}, fmt.Errorf("read binaries: %w", err)
	}
	have := map[string]bool{}
	for i := range found {
		have[found[i].Key()] = true
	}
	changed := core.BinariesChanged{Binaries: found}
	for _, key := range keys {
		if !have[key] {
			changed.Gone = append(changed.Gone, key)
		}
	}
	return changed, nil
}

// LookUp returns which of these runs exist.
func (l Loader) LookUp(ctx context.Context, e core.LookUpRuns) (core.RunsLookedUp, error) {
	runs, err := l.Store.RunsByID(ctx, e.IDs)
	if err != nil {
		return core.RunsLookedUp{}, fmt.Errorf("look up runs: %w", err)
	}
	exists := make(map[string]bool, len(e.IDs))
	for _, id := range e.IDs {
		exists[id] = false
	}
	for i := range runs {
		exists[runs[i].ID] = true
	}
	return core.RunsLookedUp{Command: e.Command, Exists: exists}, nil
}
