package shard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Loader reads from the store what the machine asks for. It holds no state; the simulator uses it too.
type Loader struct {
	Store  Store
	Shards []int
}

const recoverPage = 1000

// Recover reads every run that has not ended, with its job.
func (l Loader) Recover(ctx context.Context, due time.Time) (engine.JobsLoaded, error) {
	if len(l.Shards) == 0 {
		return engine.JobsLoaded{}, nil
	}
	var uids []string
	seen := map[string]bool{}
	after := ""
	for {
		page, err := l.Store.ActiveRuns(ctx, l.Shards, after, recoverPage)
		if err != nil {
			return engine.JobsLoaded{}, fmt.Errorf("recover active runs: %w", err)
		}
		for _, run := range page {
			if !seen[run.JobUID] {
				seen[run.JobUID] = true
				uids = append(uids, run.JobUID)
			}
			after = run.ID
		}
		if len(page) < recoverPage {
			break
		}
	}
	var all engine.JobsLoaded
	for after = ""; ; {
		page, err := l.Store.OpenWaves(ctx, l.Shards, after, recoverPage)
		if err != nil {
			return engine.JobsLoaded{}, fmt.Errorf("recover open waves: %w", err)
		}
		for i := range page {
			if uid := page[i].DAGUID; !seen[uid] {
				seen[uid] = true
				uids = append(uids, uid)
			}
			after = page[i].ID
		}
		if len(page) < recoverPage {
			break
		}
	}
	for len(uids) > 0 {
		n := min(len(uids), recoverPage)
		loaded, err := l.Jobs(ctx, uids[:n], due)
		if err != nil {
			return engine.JobsLoaded{}, err
		}
		all.Jobs = append(all.Jobs, loaded.Jobs...)
		all.DAGs = append(all.DAGs, loaded.DAGs...)
		all.Binaries = append(all.Binaries, loaded.Binaries...)
		uids = uids[n:]
	}
	return all, nil
}

// Jobs reads these jobs with all that concerns them now. A uid that means nothing any more gives an empty snapshot. Of
// jobs whose next slot is not after due, somebody may have worked on that slot: what became of it is read, too.
//
// The scheduled tasks are read before the runs: should another owner's last write land in between, then the task is
// out of date, which the next write of it finds out. The other way round a run that was made with it would be missed.
func (l Loader) Jobs(ctx context.Context, uids []string, due time.Time) (engine.JobsLoaded, error) {
	tasks, err := l.Store.TasksByID(ctx, uids)
	if err != nil {
		return engine.JobsLoaded{}, fmt.Errorf("load scheduled tasks: %w", err)
	}
	runs, err := l.Store.ActiveRunsOf(ctx, uids)
	if err != nil {
		return engine.JobsLoaded{}, fmt.Errorf("load active runs: %w", err)
	}
	byJob := map[string][]engine.Run{}
	for _, run := range runs {
		if run.Task == "" { // those of tasks are read with their DAG; of one that has gone meanwhile they are no job's
			byJob[run.JobUID] = append(byJob[run.JobUID], run)
		}
	}
	return l.assemble(ctx, uids, tasks, byJob, due)
}

func (l Loader) assemble(ctx context.Context, uids []string, tasks []engine.ScheduledTask, runs map[string][]engine.Run, due time.Time) (engine.JobsLoaded, error) {
	jobs, err := l.Store.JobsByUID(ctx, uids)
	if err != nil {
		return engine.JobsLoaded{}, fmt.Errorf("load jobs: %w", err)
	}
	jobOf := make(map[string]*engine.Job, len(jobs))
	for i := range jobs {
		jobOf[jobs[i].UID] = &jobs[i]
	}
	taskOf := make(map[string]*engine.ScheduledTask, len(tasks))
	for i := range tasks {
		taskOf[tasks[i].ID] = &tasks[i]
	}
	dags, err := l.others(ctx, uids, jobOf, due)
	if err != nil {
		return engine.JobsLoaded{}, err
	}
	loaded := engine.JobsLoaded{Jobs: make([]engine.JobSnapshot, 0, len(uids))}
	var keys, slotRuns []string
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
		s := engine.JobSnapshot{UID: uid, Job: jobOf[uid], Task: taskOf[uid], Runs: runs[uid]}
		if s.Job != nil {
			if ref, err := s.Job.Spec.Binding(); err == nil && ref.Name != "" {
				if key := s.Job.Namespace + "/" + ref.Name; !wanted[key] {
					wanted[key] = true
					keys = append(keys, key)
				}
			}
			if s.Specs, err = l.earlier(ctx, &s, nil); err != nil {
				return engine.JobsLoaded{}, err
			}
			if s.Task != nil && (s.Job.Spec.After > 0 || !s.Task.Slot.After(due)) {
				slotRuns = append(slotRuns, engine.SlotRunID(uid, s.Task.Slot))
			}
		}
		if since := doubtful(&s, due); !since.IsZero() { // also of a deleted job: runs may be left of it
			if s.Ledger, err = l.ledger(ctx, uid, since); err != nil {
				return engine.JobsLoaded{}, err
			}
		}
		loaded.Jobs = append(loaded.Jobs, s)
	}
	if len(slotRuns) > 0 {
		found, err := l.Store.RunsByID(ctx, slotRuns)
		if err != nil {
			return engine.JobsLoaded{}, fmt.Errorf("load runs of slots: %w", err)
		}
		runOf := map[string]*engine.Run{}
		for i := range found {
			runOf[found[i].JobUID] = &found[i]
		}
		for i := range loaded.Jobs {
			loaded.Jobs[i].SlotRun = runOf[loaded.Jobs[i].UID]
		}
	}
	if len(keys) > 0 {
		if loaded.Binaries, err = l.Store.BinariesByKey(ctx, keys); err != nil {
			return engine.JobsLoaded{}, fmt.Errorf("load binaries: %w", err)
		}
	}
	return loaded, nil
}

// others reads those of the uids that are not jobs: most often there are none.
func (l Loader) others(ctx context.Context, uids []string, jobs map[string]*engine.Job, due time.Time) (map[string]*engine.DAGSnapshot, error) {
	var rest []string
	for _, uid := range uids {
		if jobs[uid] == nil {
			rest = append(rest, uid)
		}
	}
	if len(rest) == 0 {
		return nil, nil
	}
	return l.dags(ctx, rest, due)
}

// ledgerPage bounds the ranges of the ledger that are read at one time.
const ledgerPage = 100

// doubtful is the first slot that an engine before this one may have noted without doing what follows; zero if there
// is none. A run that is only scheduled may be one that it made as another had passed its slot over. And an edit is planned
// from when it was made: until the engine saw it, or one before it, slots went on as they were. A job that is resumed goes on
// with the slot that it was paused at, which may have been noted before the wall clock went back behind it.
func doubtful(s *engine.JobSnapshot, due time.Time) time.Time {
	var first time.Time
	pending := s.Job != nil && s.Job.Pending
	if s.Task != nil && (pending || !s.Task.Slot.After(due)) {
		first = s.Task.Slot
	}
	edited := pending && s.Job.Generation > 1 && (s.Task == nil || s.Task.Generation != s.Job.Generation)
	if edited && (first.IsZero() || s.Job.UpdatedAt.Before(first)) {
		first = s.Job.UpdatedAt
	}
	for i := range s.Runs {
		run := &s.Runs[i]
		if run.Status == engine.StatusScheduled && !run.Slot.IsZero() && (first.IsZero() || run.Slot.Before(first)) {
			first = run.Slot
		}
	}
	return first
}

// ledger reads what the ledger says of the slots from one on.
func (l Loader) ledger(ctx context.Context, uid string, since time.Time) ([]engine.SlotRange, error) {
	var all []engine.SlotRange
	filter := engine.SlotFilter{JobUID: uid, Since: since, Limit: ledgerPage}
	for {
		page, next, err := l.Store.Slots(ctx, filter)
		if err != nil {
			return nil, fmt.Errorf("load the ledger of job %s: %w", uid, err)
		}
		all = append(all, page...)
		if next == "" {
			return all, nil
		}
		filter.Cursor = next
	}
}

// earlier reads the generations that the snapshot's task and runs, and one more run, were made of, where they differ
// from the present.
func (l Loader) earlier(ctx context.Context, s *engine.JobSnapshot, also *engine.Run) (map[int64]spec.Job, error) {
	var specs map[int64]spec.Job
	need := func(generation int64) error {
		if generation == 0 || generation == s.Job.Generation {
			return nil
		}
		if _, have := specs[generation]; have {
			return nil
		}
		g, err := l.Store.Generation(ctx, s.UID, generation)
		if errors.Is(err, engine.ErrNotFound) {
			return nil // not kept any more: the present definition stands in
		}
		if err != nil {
			return fmt.Errorf("load generation %d of job %s: %w", generation, s.UID, err)
		}
		if specs == nil {
			specs = map[int64]spec.Job{}
		}
		specs[generation] = g.Spec
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

// Due gives the uids of the jobs whose tasks are due in (after, until], the earliest first.
func (l Loader) Due(ctx context.Context, after, until time.Time) ([]string, error) {
	if len(l.Shards) == 0 {
		return nil, nil
	}
	tasks, err := l.Store.DueTasks(ctx, l.Shards, after, until)
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

// Sweep looks for jobs and commands that the engine has not acted upon.
func (l Loader) Sweep(ctx context.Context) (Swept, error) {
	var swept Swept
	if len(l.Shards) == 0 {
		return swept, nil
	}
	jobs, err := l.Store.PendingJobs(ctx, l.Shards, sweepPage)
	if err != nil {
		return swept, fmt.Errorf("sweep pending jobs: %w", err)
	}
	for i := range jobs {
		swept.Pending = append(swept.Pending, jobs[i].UID)
	}
	dags, err := l.Store.PendingDAGs(ctx, l.Shards, sweepPage)
	if err != nil {
		return swept, fmt.Errorf("sweep pending DAGs: %w", err)
	}
	for i := range dags {
		swept.Pending = append(swept.Pending, dags[i].UID)
	}
	if swept.Commands, err = l.Store.Commands(ctx, l.Shards, sweepPage); err != nil {
		return swept, fmt.Errorf("sweep commands: %w", err)
	}
	swept.More = len(jobs) == sweepPage || len(dags) == sweepPage || len(swept.Commands) == sweepPage
	return swept, nil
}

// Active names the runs and the waves that have not ended, and what was due until an instant.
func (l Loader) Active(ctx context.Context, until time.Time) (Reconciled, error) {
	var all Reconciled
	var err error
	if all.Overdue, err = l.Due(ctx, time.Time{}, until); err != nil {
		return all, err
	}
	if len(l.Shards) == 0 {
		return all, nil
	}
	for after := ""; ; {
		page, err := l.Store.ActiveRuns(ctx, l.Shards, after, recoverPage)
		if err != nil {
			return all, fmt.Errorf("read active runs: %w", err)
		}
		for i := range page {
			all.Runs = append(all.Runs, ActiveRun{ID: page[i].ID, JobUID: page[i].JobUID, Revision: page[i].Revision})
			after = page[i].ID
		}
		if len(page) < recoverPage {
			break
		}
	}
	for after := ""; ; {
		page, err := l.Store.OpenWaves(ctx, l.Shards, after, recoverPage)
		if err != nil {
			return all, fmt.Errorf("read open waves: %w", err)
		}
		for i := range page {
			all.Waves = append(all.Waves, OpenWave{ID: page[i].ID, DAGUID: page[i].DAGUID})
			after = page[i].ID
		}
		if len(page) < recoverPage {
			return all, nil
		}
	}
}

// Command reads the job and the run that a command is about.
func (l Loader) Command(ctx context.Context, command engine.Command, due time.Time) (CommandLoaded, error) {
	out := CommandLoaded{Command: command}
	loaded, err := l.Jobs(ctx, []string{command.JobUID}, due)
	if err != nil {
		return out, err
	}
	out.Binaries = loaded.Binaries
	switch {
	case len(loaded.DAGs) > 0:
		out.DAG = &loaded.DAGs[0]
	default:
		out.Snapshot = loaded.Jobs[0]
	}
	if command.Kind.AboutWave() {
		return out, l.waveCommand(ctx, &out)
	}
	if command.RunID != "" {
		runs, err := l.Store.RunsByID(ctx, []string{command.RunID})
		if err != nil {
			return out, fmt.Errorf("load run %s: %w", command.RunID, err)
		}
		if len(runs) == 1 {
			out.Run = &runs[0]
			if out.Snapshot.Job != nil { // a run that has ended is tried again as what it was
				if out.Snapshot.Specs, err = l.earlier(ctx, &out.Snapshot, out.Run); err != nil {
					return out, err
				}
			}
		}
	}
	return out, nil
}

// Binaries reads binaries again.
func (l Loader) Binaries(ctx context.Context, keys []string) (engine.BinariesChanged, error) {
	found, err := l.Store.BinariesByKey(ctx, keys)
	if err != nil {
		return engine.BinariesChanged{}, fmt.Errorf("read binaries: %w", err)
	}
	have := map[string]bool{}
	for i := range found {
		have[found[i].Key()] = true
	}
	changed := engine.BinariesChanged{Binaries: found}
	for _, key := range keys {
		if !have[key] {
			changed.Gone = append(changed.Gone, key)
		}
	}
	return changed, nil
}

// LookUp tells which of these runs exist.
func (l Loader) LookUp(ctx context.Context, e engine.LookUpRuns) (engine.RunsLookedUp, error) {
	runs, err := l.Store.RunsByID(ctx, e.IDs)
	if err != nil {
		return engine.RunsLookedUp{}, fmt.Errorf("look up runs: %w", err)
	}
	exists := map[string]bool{}
	for i := range runs {
		exists[runs[i].ID] = true
	}
	return engine.RunsLookedUp{Command: e.Command, Exists: exists}, nil
}
