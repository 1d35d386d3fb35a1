package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
)

// Incidents returns incidents of these shards with ids above after, in the order of their ids.
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

// IncidentsPage lists the incidents of a namespace that have begun, the latest begun first.
func (s *Store) IncidentsPage(ctx context.Context, namespace, cursor string, limit int) (incidents []engine.Incident, next string, err error) {
	place, given, err := engine.DecodeCursor("incidents", cursor)
	if err != nil {
		return nil, "", fmt.Errorf("memory: list incidents: %w", err)
	}
	if err := s.read(ctx); err != nil {
		return nil, "", err
	}
	defer s.mu.RUnlock()
	for _, incident := range s.incidents {
		if incident.Count > 0 && incident.Namespace == namespace &&
			(!given || newestFirst(incident.Since, place.At, incident.ID, place.ID) > 0) {
			incidents = append(incidents, incident.Clone())
		}
	}
	slices.SortFunc(incidents, func(a, b engine.Incident) int { return newestFirst(a.Since, b.Since, a.ID, b.ID) })
	incidents, next = page("incidents", incidents, limit, func(incident engine.Incident) engine.Cursor {
		return engine.Cursor{At: incident.Since, ID: incident.ID}
	})
	return incidents, next, nil
}
