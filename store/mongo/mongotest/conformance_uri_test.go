package mongotest_test

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/storetest"
)

// TestConformanceOfAServer holds whatever server TIDEWHEEL_TEST_MONGODB_URI names to everything, in databases of its
// own that are dropped afterwards. Without the variable there is nothing to hold.
func TestConformanceOfAServer(t *testing.T) {
	uri := os.Getenv("TIDEWHEEL_TEST_MONGODB_URI")
	if uri == "" {
		t.Skip("TIDEWHEEL_TEST_MONGODB_URI is not set")
	}
	var name string
	open := func(t *testing.T) storetest.Store {
		// From the primary, because the suite reads at once what it has written.
		return openStore(t, uri, mongo.Config{Database: name, PrimaryOnly: true})
	}
	fresh := func(t *testing.T) {
		name = "tidewheel_test_" + rand.Text()
		drop(t, uri, name)
	}
	storetest.RunDurable(t, func(t *testing.T) storetest.Store {
		fresh(t)
		return open(t)
	}, open)
	t.Run("reads follow indexes", func(t *testing.T) {
		fresh(t)
		readsFollowIndexes(t, uri, connect(t, uri).Database(name))
	})
}

// drop removes a database at the end of a test.
func drop(t *testing.T, uri, name string) {
	t.Helper()
	if !strings.HasPrefix(name, "tidewheel_test_") {
		t.Fatalf("%q is not a database of this test", name)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		store, err := mongo.Open(ctx, uri, mongo.Config{Database: name})
		if err != nil {
			t.Errorf("drop %s: %v", name, err)
			return
		}
		if err := store.Drop(ctx); err != nil {
			t.Errorf("drop %s: %v", name, err)
		}
		if err := store.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}
