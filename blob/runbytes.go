package blob

import (
	"context"
	"strings"
)

// runsPerCount is how many runs RunBytes reports at a time, at most.
const runsPerCount = 500

// RunBytes adds up what runs have stored, artifacts and output, and calls each with the bytes of some runs by their ids. A run
// that has both is in two of the calls. It lists every object.
func (s *Store) RunBytes(ctx context.Context, each func(bytes map[string]int64) error) error {
	for _, folder := range []Folder{Artifacts, Logs} {
		counted := make(map[string]int64)
		err := s.Objects(ctx, folder, func(object Object) error {
			run, _, _ := strings.Cut(strings.TrimPrefix(object.Key, string(folder)), "/")
			if _, known := counted[run]; !known && len(counted) == runsPerCount {
				if err := each(counted); err != nil {
					return err
				}
				counted = make(map[string]int64)
			}
			counted[run] += object.Size
			return nil
		})
		if err == nil && len(counted) > 0 {
			err = each(counted)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
