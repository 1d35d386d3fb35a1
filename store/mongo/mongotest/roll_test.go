package mongotest_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/store/mongo"
)

// The roll lists every server that answers while it is open, and its documents are gone afterwards.
func TestRollIsAnsweredByAllThatAreThere(t *testing.T) {
	server := startServer(t)
	asking := closing(t, openStore(t, server.URI(), mongo.Config{}))
	roll := func(names ...string) []string {
		t.Helper()
		var servers sync.WaitGroup
		done := make(chan struct{})
		for _, name := range names {
			store := closing(t, openStore(t, server.URI(), mongo.Config{}))
			servers.Go(func() {
				for again := true; again; {
					if err := store.AnswerRoll(t.Context(), name); err != nil {
						t.Error(err)
					}
					select {
					case <-done:
						again = false
					case <-time.After(10 * time.Millisecond):
					}
				}
			})
		}
		here, err := asking.CallRoll(t.Context(), time.Second)
		close(done)
		servers.Wait()
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(here)
		return here
	}
	for _, names := range [][]string{nil, {"a", "b", "c"}, {"b"}, nil} {
		if here := roll(names...); !slices.Equal(here, names) {
			t.Errorf("there are %v, and %v have answered", names, here)
		}
	}
}
