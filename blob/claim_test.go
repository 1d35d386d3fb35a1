package blob

import (
	"errors"
	"strings"
	"testing"
)

func TestBucketBelongsToOneStore(t *testing.T) {
	t.Parallel()
	shared := config(t)
	for _, step := range []struct {
		store string
		ours  bool
	}{{"store-a", true}, {"store-a", true}, {"store-b", false}, {"store-a", true}} {
		opened, err := Open(t.Context(), shared)
		if err != nil {
			t.Fatal(err)
		}
		err = opened.ClaimFor(t.Context(), step.store)
		opened.Close()
		if step.ours && err != nil {
			t.Errorf("%s: %v", step.store, err)
		}
		if !step.ours && (!errors.Is(err, ErrOtherStore) || !strings.Contains(err.Error(), "store-a") || !strings.Contains(err.Error(), "choose another bucket")) {
			t.Errorf("%s: %v", step.store, err)
		}
	}
}
