package shard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// dags reads those of these uids that are DAGs, or were, with all that concerns them now.
//
// What another owner writes in between must be found out by the next write. So the scheduled tasks come first, as for
// jobs: with a definition from before a change that somebody has acted upon already, a task from after it would be put back
// to what it was. The last epoch comes before the open waves, for one that opens in between has the number that the next would
// get; and the runs last.
func (l Loader) dags(ctx context.Context, uids []string, due time.Time) (map[string]*engine.DAGSnapshot, error) {
	tasks, err := l.Store.TasksOfDAGs(ctx, uids)
	if err != nil {
		return nil, fmt.Errorf("load scheduled tasks of DAGs: %w", err)
	}
	found, err := l.Store.DAGsByUID(ctx, uids)
	if err != nil {
		return nil, fmt.Errorf("load DAGs: %w", err)
	}
	epochs, err := l.Store.LastEpochs(ctx, uids)
	if err != nil {
		return nil, fmt.Errorf("load the last epochs: %w", err)
	}
	waves, err := l.Store.OpenWavesOf(ctx, uids)
	if err != nil {
		return nil, fmt.Errorf("load open waves: %w", err)
	}
	active, err := l.Store.ActiveRunsOf(ctx, uids)
	if err != nil {
		return nil, fmt.Errorf("load active runs of DAGs: %w", err)
	}
	runs := map[string][]engine.Run{}
	for i := range active {
		runs[active[i].JobUID] = append(runs[active[i].JobUID], active[i])
	}
	snapshots := map[string]*engine.DAGSnapshot{}
	snapshot := func(uid string) *engine.DAGSnapshot {
		if snapshots[uid] == nil {
			snapshots[uid] = &engine.DAGSnapshot{
				UID: uid, LastEpoch: epochs[uid],
				Spec: map[int64]*spec.DAG{}, Tasks: map[string]engine.ScheduledTask{}, Ledger: map[string][]engine.SlotRange{},
			}
		}
		return snapshots[uid]
	}
	for i := range found {
		snapshot(found[i].UID).DAG = &found[i]
	}
	for i := range waves { // a deleted DAG is known by what it left
		s := snapshot(waves[i].DAGUID)
		s.Waves = append(s.Waves, waves[i])
	}
	for uid, list := range runs {
		if list[0].Task != "" {
			snapshot(uid)
		}
	}
	for i := range tasks {
		switch s := snapshots[engine.RunJob(tasks[i].ID)]; {
		case s == nil:
		case engine.IsTurn(tasks[i].ID):
			s.Turn = &tasks[i]
		default:
			s.Tasks[engine.RootOf(tasks[i].ID)] = tasks[i]
		}
	}
	for _, uid := range uids {
		if s := snapshots[uid]; s != nil {
			if err := l.completeDAG(ctx, s, runs[uid], due); err != nil {
				return nil, err
			}
		}
	}
	return snapshots, nil
}

// completeDAG reads the runs of the open wave, earlier generations that something refers to, and what the ledger says
// of slots that may have been worked on.
func (l Loader) completeDAG(ctx context.Context, s *engine.DAGSnapshot, active []engine.Run, due time.Time) error {
	seen := map[string]bool{}
	for i := range s.Waves {
		if s.Waves[i].Status != engine.StatusRunning {
			continue
		}
		runs, err := l.runsOfWave(ctx, s.Waves[i].ID)
		if err != nil {
			return err
		}
		for k := range runs {
			seen[runs[k].ID] = true
		}
		s.Runs = append(s.Runs, runs...)
	}
	for i := range active {
		if !seen[active[i].ID] {
			s.Runs = append(s.Runs, active[i])
		}
	}
	if s.DAG == nil {
		return nil
	}
	need := map[int64]bool{}
	for _, task := range s.Tasks {
		need[task.Generation] = true
	}
	for i := range s.Waves {
		need[s.Waves[i].Generation] = true
	}
	for i := range s.Runs {
		need[s.Runs[i].Generation] = true
	}
	for _, generation := range slices.Sorted(maps.Keys(need)) {
		if err := l.formOf(ctx, s, generation); err != nil {
			return err
		}
	}
	if err := l.had(ctx, s); err != nil {
		return err
	}
	roots := map[string]*engine.JobSnapshot{}
	definition := &engine.Job{Generation: s.DAG.Generation, Pending: s.DAG.Pending, UpdatedAt: s.DAG.UpdatedAt}
	for root, task := range s.Tasks {
		roots[root] = &engine.JobSnapshot{Job: definition, Task: &task}
	}
	for i := range s.Runs {
		run := &s.Runs[i]
		if roots[run.Task] == nil && run.Status == engine.StatusScheduled && !run.Slot.IsZero() {
			roots[run.Task] = &engine.JobSnapshot{} // an edit, or the deletion of the DAG, has taken its schedule away
		}
		if like := roots[run.Task]; like != nil {
			like.Runs = append(like.Runs, *run)
		}
	}
	for _, root := range slices.Sorted(maps.Keys(roots)) {
		like := roots[root]
		since := doubtful(like, due)
		if since.IsZero() {
			continue
		}
		ledger, err := l.ledger(ctx, engine.RootID(s.UID, root), since)
		if err != nil {
			return err
		}
		s.Ledger[root] = ledger
	}
	return nil
}

// had reads the runs of roots in the waves before those that they have prepared runs for, where these have ended.
func (l Loader) had(ctx context.Context, s *engine.DAGSnapshot) error {
	ofSlot := func(run *engine.Run) bool {
		return run.Trigger == engine.TriggerSchedule || run.Trigger == engine.TriggerCatchUp
	}
	read := map[string]bool{}
	for i := range s.Runs {
		read[s.Runs[i].Wave] = true
	}
	var ids []string
	for i := range s.Runs {
		run := &s.Runs[i]
		if before := engine.WaveID(s.UID, run.Epoch-1); run.Status == engine.StatusScheduled && ofSlot(run) && run.Epoch > 1 && !read[before] {
			ids = append(ids, engine.TaskRunID(before, run.Task))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	runs, err := l.Store.RunsByID(ctx, ids)
	if err != nil {
		return fmt.Errorf("load what roots of DAG %s have had: %w", s.UID, err)
	}
	s.Had = map[string]engine.Run{}
	for i := range runs {
		if ofSlot(&runs[i]) {
			s.Had[runs[i].Task] = runs[i]
		}
	}
	return nil
}

// formOf reads an earlier generation of a DAG, unless it is not kept any more: then the present one stands in.
func (l Loader) formOf(ctx context.Context, s *engine.DAGSnapshot, generation int64) error {
	if generation == 0 || generation == s.DAG.Generation || s.Spec[generation] != nil {
		return nil
	}
	form, err := l.Store.DAGGeneration(ctx, s.UID, generation)
	if errors.Is(err, engine.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("load generation %d of DAG %s: %w", generation, s.UID, err)
	}
	definition := form.Spec // by itself: the rest of the record is not to be held
	s.Spec[generation] = &definition
	return nil
}

const wavePage = 1000

func (l Loader) runsOfWave(ctx context.Context, wave string) ([]engine.Run, error) {
	var all []engine.Run
	for after := ""; ; {
		page, err := l.Store.RunsOfWave(ctx, wave, after, wavePage)
		if err != nil {
			return nil, fmt.Errorf("load the runs of wave %s: %w", wave, err)
		}
		all = append(all, page...)
		if len(page) < wavePage {
			return all, nil
		}
		after = page[len(page)-1].ID
	}
}

// binariesOf gives the keys of the binaries that a DAG's tasks refer to, in the forms that matter.
func binariesOf(s *engine.DAGSnapshot) []string {
	if s.DAG == nil {
		return nil
	}
	keys := engine.BinaryKeys(s.DAG.Namespace, &s.DAG.Spec)
	for _, form := range s.Spec {
		keys = append(keys, engine.BinaryKeys(s.DAG.Namespace, form)...)
	}
	return keys
}

// waveCommand reads what a command about a wave is about: its DAG, and the wave itself where that has ended.
func (l Loader) waveCommand(ctx context.Context, out *CommandLoaded) error {
	if out.Command.Kind == engine.CommandStartWave {
		return nil // the DAG brings it
	}
	waves, err := l.Store.WavesByID(ctx, []string{out.Command.RunID})
	if err != nil {
		return fmt.Errorf("load wave %s: %w", out.Command.RunID, err)
	}
	if len(waves) == 0 {
		return nil
	}
	out.Wave = &waves[0]
	if !out.Wave.Status.Terminal() {
		return nil
	}
	if out.WaveRuns, err = l.runsOfWave(ctx, out.Wave.ID); err != nil {
		return err
	}
	if out.DAG == nil || out.DAG.DAG == nil {
		return nil
	}
	return l.formOf(ctx, out.DAG, out.Wave.Generation)
}
