package blob

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrOtherStore means that a bucket belongs to another Tidewheel.
var ErrOtherStore = errors.New("the bucket belongs to another Tidewheel")

// ClaimFor records which store these bytes belong to; ErrOtherStore if they belong to another one. It is said once, and
// stays so.
func (s *Store) ClaimFor(ctx context.Context, store string) error {
	for range 2 {
		found, err := s.readMarker(ctx)
		switch {
		case err != nil:
			return err
		case found.Store == store:
			return nil
		case found.Store != "":
			return fmt.Errorf("blob: open bucket %s: %w: its store is %s, and this one's is %s; choose another bucket or "+
				"prefix, or, if the other one is gone for good, write this one's into \"store\" of the object %s",
				s.bucket, ErrOtherStore, found.Store, store, s.prefix+markerKey)
		}
		found.Store = store
		data, err := json.Marshal(found)
		if err != nil {
			return fmt.Errorf("blob: encode marker: %w", err)
		}
		if err := s.putSmall(ctx, s.prefix+markerKey, data); err != nil {
			return err
		} // and look again: two may have claimed it at once, and the last one has it
	}
	return nil
}

// Owner returns the store that these bytes belong to, "" if none has claimed them yet.
func (s *Store) Owner(ctx context.Context) (store string, err error) {
	found, err := s.readMarker(ctx)
	return found.Store, err
}

func (s *Store) readMarker(ctx context.Context) (found marker, err error) {
	data, err := s.getSmall(ctx, s.prefix+markerKey)
	if err != nil {
		return found, err
	}
	if err := json.Unmarshal(data, &found); err != nil {
		return found, fmt.Errorf("blob: read %s of bucket %s: %w", s.prefix+markerKey, s.bucket, err)
	}
	return found, nil
}
