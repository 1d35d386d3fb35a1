package mongotest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/store/mongo"
)

func TestADatabaseHasOneQueueAtATime(t *testing.T) {
	server := startServer(t)
	one, two := closing(t, openStore(t, server.URI(), mongo.Config{})), closing(t, openStore(t, server.URI(), mongo.Config{}))
	for _, store := range []*mongo.Store{one, two, one} {
		must(t, store.ClaimQueue(t.Context(), "a", time.Hour))
	}
	var other *mongo.OtherQueueError
	if err := two.ClaimQueue(t.Context(), "b", time.Hour); !errors.As(err, &other) || time.Until(other.Until) < 50*time.Minute {
		t.Fatalf("nodes on two queues work on one database: %v", err)
	}
	must(t, one.ClaimQueue(t.Context(), "a", -time.Second)) // no node renews its claim any more
	must(t, two.ClaimQueue(t.Context(), "b", time.Hour))
	if err := one.ClaimQueue(t.Context(), "a", time.Hour); !errors.As(err, &other) {
		t.Errorf("the first comes back beside the second: %v", err)
	}
}
