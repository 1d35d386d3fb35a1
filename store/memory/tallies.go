package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Tallies counts the runs of a namespace that were made within each window.
func (s *Store) Tallies(ctx context.Context, namespace string, windows []engine.Window, limit int) ([]engine.Tallies, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	all := make([]engine.Tallies, len(windows))
	for i, window := range windows {
		for _, run := range s.runs {
			if run.Namespace != namespace || run.CreatedAt.Before(window.From) || !window.Until.IsZero() && !run.CreatedAt.Before(window.Until) {
				continue
			}
			if tally := &all[i][run.Status]; tally.N < limit {
				tally.N++
			} else {
				tally.More = true
			}
		}
	}
	return all, nil
}

// RecentSlots lists ledger entries of a namespace that end at or after an instant, the latest end first.
func (s *Store) RecentSlots(ctx context.Context, namespace string, since time.Time, limit int) ([]engine.SlotRange, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	defer s.mu.RUnlock()
	var recent []engine.SlotRange
	for _, entry := range s.slots {
		if entry.Namespace == namespace && !entry.To.Before(since) {
			recent = append(recent, entry)
		}
	}
	slices.SortFunc(recent, func(a, b engine.SlotRange) int { return cmp.Or(b.To.Compare(a.To), cmp.Compare(b.ID, a.ID)) })
	return recent[:min(limit, len(recent))], nil
}
