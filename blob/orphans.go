package blob

import (
	"context"
	"maps"
	"slices"
	"time"
)

// RunsWithout returns the ids of runs that are gone and have objects in a folder, Logs or Artifacts, none of which was written since
// before: what the sweep of the folder would remove.
func (s *Store) RunsWithout(ctx context.Context, folder Folder, before time.Time, known KnownRuns) (runs []string, err error) {
	_, err = s.sweepRuns(ctx, string(folder), before, known, func(_ context.Context, run string) (int64, error) {
		runs = append(runs, run)
		return 0, nil
	})
	return runs, err
}

// StoredBinaries returns the digests of the programs that were written before an instant.
func (s *Store) StoredBinaries(ctx context.Context, before time.Time) ([]string, error) {
	found, err := s.digests(ctx, binariesFolder, before)
	return slices.Sorted(maps.Keys(found)), err
}
