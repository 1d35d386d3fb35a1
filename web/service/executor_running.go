package service

import (
	"context"
	"fmt"
	"slices"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/engine"
)

// hideForeign takes from executors the names of runs and jobs that the identity of a request may not read. How many run stays: all
// who have a role see how busy an executor is.
func (s *Service) hideForeign(ctx context.Context, executors []engine.Presence) ([]engine.Presence, error) {
	identity := access.From(ctx)
	if identity.May(access.Everywhere, access.Viewer) {
		return executors, nil
	}
	var ids []string
	for i := range executors {
		for k := range executors[i].Running {
			ids = append(ids, executors[i].Running[k].Run)
		}
	}
	if len(ids) == 0 {
		return executors, nil
	}
	runs, err := s.store.RunsByID(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("look up the runs of executors: %w", err)
	}
	readable := map[string]bool{}
	for i := range runs {
		readable[runs[i].ID] = identity.May(runs[i].Namespace, access.Viewer)
	}
	executors = slices.Clone(executors)
	for i := range executors {
		executors[i].Running = slices.Clone(executors[i].Running)
		for k := range executors[i].Running {
			if at := &executors[i].Running[k]; !readable[at.Run] {
				at.Run, at.Job = "", ""
			}
		}
	}
	return executors, nil
}
