package service

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

const (
	// usersCounted is of how many jobs and tasks the latest runs are counted by version.
	usersCounted = 20
	// runsCounted is how many of the latest runs of each.
	runsCounted = 50
)

// VersionUse says which jobs run a version of a binary, and which ran it lately.
type VersionUse struct {
	RunBy  []string // jobs, and tasks as "dag/task", whose next run is of this version
	Recent []string // "nightly, 12 of the last 50": how many of the latest runs of each were of it
}

// VersionUses reports how the given versions of a binary are used. Recent runs are counted of the first 20 jobs and tasks.
func (s *Service) VersionUses(ctx context.Context, binary *engine.Binary, versions ...int) (map[int]VersionUse, error) {
	users, err := s.JobsUsing(ctx, binary)
	if err != nil {
		return nil, err
	}
	uses := map[int]VersionUse{}
	for i, user := range users {
		if use := uses[user.Version]; slices.Contains(versions, user.Version) {
			use.RunBy = append(use.RunBy, user.Label())
			uses[user.Version] = use
		}
		if i >= usersCounted {
			continue
		}
		filter := engine.RunFilter{Namespace: binary.Namespace, Job: user.Job, DAG: user.DAG, Task: user.Task, Limit: runsCounted}
		runs, _, err := s.store.Runs(ctx, filter)
		if err != nil {
			return nil, fmt.Errorf("list the runs of %s: %w", user.Label(), err)
		}
		counts := map[int]int{}
		for k := range runs {
			if ref, err := spec.ParseBinary(runs[k].Binary); err == nil && ref.Name == binary.Name {
				counts[runs[k].Version]++
			}
		}
		for _, n := range slices.Sorted(maps.Keys(counts)) {
			if use := uses[n]; slices.Contains(versions, n) {
				use.Recent = append(use.Recent, fmt.Sprintf("%s, %d of the last %d", user.Label(), counts[n], len(runs)))
				uses[n] = use
			}
		}
	}
	return uses, nil
}

// AliasesAt names the aliases that point at a version, in order.
func AliasesAt(binary *engine.Binary, n int) []string {
	var names []string
	for alias, at := range binary.Aliases {
		if at == n {
			names = append(names, alias)
		}
	}
	slices.Sort(names)
	return names
}
