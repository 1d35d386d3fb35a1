package mongotest_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/store/mongo"
)

// Answers to one query are not left over for the next.
func TestListActiveServersReturnsEveryServerThatReports(t *testing.T) {
	server := startServer(t)
	asking := closing(t, openStore(t, server.URI(), mongo.Config{}))
	list := func(names ...string) []string {
		t.Helper()
		var servers sync.WaitGroup
		done := make(chan struct{})
		for _, name := range names {
			store := closing(t, openStore(t, server.URI(), mongo.Config{}))
			servers.Go(func() {
				for again := true; again; {
					if err := store.ReportActive(t.Context(), name); err != nil {
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
		here, err := asking.ListActiveServers(t.Context(), time.Second)
		close(done)
		servers.Wait()
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(here)
		return here
	}
	for _, names := range [][]string{nil, {"a", "b", "c"}, {"b"}, nil} {
		if here := list(names...); !slices.Equal(here, names) {
			t.Errorf("active servers are %v, and %v are listed", names, here)
		}
	}
}
