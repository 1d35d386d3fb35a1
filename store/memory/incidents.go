package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
)

// Incidents gives incidents of these shards with ids above after, in the order of their ids.
func (s *Store) Incidents(ctx context.Context, shards []int, after string, limit int) ([]engine.Incident, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	mine := shardSet(shards)
	var incidents []engine.Incident
	for id, incident := range s.incidents {
		if id > after && mine.has(incident.Shard) {
			incidents = append(incidents, incident.Clone())
		}
	}
	slices.SortFunc(incidents, func(a, b engine.Incident) int { return cmp.Compare(a.ID, b.ID) })
	return incidents[:min(limit, len(incidents))], nil
}
