package blob

import (
	"context"
	"maps"
	"slices"
	"time"
)

// StoredBinaries returns the digests of the programs that were written before an instant.
func (s *Store) StoredBinaries(ctx context.Context, before time.Time) ([]string, error) {
	found, err := s.digests(ctx, binariesFolder, before)
	return slices.Sorted(maps.Keys(found)), err
}
