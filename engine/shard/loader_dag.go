package shard

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/spec"
)

// dags reads those of these uids that are DAGs, or were, with all that concerns them now.
func (l Loader) dags(ctx context.Context, uids []string) (map[string]*core.DAGSnapshot, error) {
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
	snapshots := map[string]*core.DAGSnapshot{}
	snapshot := func(uid string) *core.DAGSnapshot {
		if snapshots[uid] == nil {
			snapshots[uid] = &core.DAGSnapshot{
				UID: uid, LastEpoch: epochs[uid],
				Spec: map[int64]*spec.DAG{}, Tasks: map[string]engine.ScheduledTask{},
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
		if s := snapshots[engine.RunJob(tasks[i].ID)]; s != nil {
			s.Tasks[engine.RootOf(tasks[i].ID)] = tasks[i]
		}
	}
	for _, uid := range uids {
		if s := snapshots[uid]; s != nil {
			if err := l.completeDAG(ctx, s, runs[uid]); err != nil {
				return nil, err
			}
		}
	}
	return snapshots, nil
}

// completeDAG reads the runs of the open wave, and earlier generations that something refers to.
func (l Loader) completeDAG(ctx context.Context, s *core.DAGSnapshot, active []engine.Run) error {
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
		if err := l.versionOf(ctx, s, generation); err != nil {
			return err
		}
	}
	return nil
}

// versionOf reads an earlier generation of a DAG into its snapshot, where that does not hold it.
func (l Loader) versionOf(ctx context.Context, s *core.DAGSnapshot, generation int64) error {
	if generation == 0 || generation == s.DAG.Generation || s.Spec[generation] != nil {
		return nil
	}
	earlier, err := earlierSpec(ctx, l.Store.DAGGeneration, s.UID, generation)
	if earlier != nil {
		s.Spec[generation] = earlier
	}
	return err
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

// binariesOf returns the keys of the binaries that a DAG's tasks refer to, in the versions that matter.
func binariesOf(s *core.DAGSnapshot) []string {
	if s.DAG == nil {
		return nil
	}
	keys := engine.BinaryKeys(s.DAG.Namespace, &s.DAG.Spec)
	for _, version := range s.Spec {
		keys = append(keys, engine.BinaryKeys(s.DAG.Namespace, version)...)
	}
	return keys
}

// waveCommand reads what a command about a wave is about: its DAG, and the wave itself where that has ended.
func (l Loader) waveCommand(ctx context.Context, out *core.CommandReceived) error {
	waves, err := l.Store.WavesByID(ctx, []string{out.Command.RunID})
	if err != nil {
		return fmt.Errorf("load wave %s: %w", out.Command.RunID, err)
	}
	if len(waves) == 0 {
		return nil
	}
	out.Wave = &waves[0]
	if !out.Wave.Status.Terminal() || out.Command.Kind == engine.CommandStartWave {
		return nil
	}
	if out.WaveRuns, err = l.runsOfWave(ctx, out.Wave.ID); err != nil {
		return err
	}
	if out.DAG == nil || out.DAG.DAG == nil {
		return nil
	}
	return l.versionOf(ctx, out.DAG, out.Wave.Generation)
}
