package memory

import (
	"context"
	"slices"
	"strings"
)

// JobNames lists names of living jobs from one on, in order.
func (s *Store) JobNames(ctx context.Context, namespace, from string, limit int) ([]string, error) {
	return namesFrom(ctx, s, s.jobs.names, namespace, from, limit)
}

// BinaryNames lists names of binaries from one on, in order.
func (s *Store) BinaryNames(ctx context.Context, namespace, from string, limit int) ([]string, error) {
	return namesFrom(ctx, s, s.binaries, namespace, from, limit)
}

func namesFrom[V any](ctx context.Context, s *Store, byKey map[string]V, namespace, from string, limit int) ([]string, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	var names []string
	for key := range byKey {
		if name, mine := strings.CutPrefix(key, namespace+"/"); mine && name >= from {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[:min(limit, len(names))], nil
}
