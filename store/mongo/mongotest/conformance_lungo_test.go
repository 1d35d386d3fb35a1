package mongotest_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/mongo/mongotest"
	"github.com/tidewheel/tidewheel/store/storetest"
)

// The adapter itself is the subject of the suite: no method of the port may be missing.
var _ storetest.Store = (*mongo.Store)(nil)

// startServer starts a server that ends with the test.
func startServer(t testing.TB) *mongotest.Server {
	t.Helper()
	server, err := mongotest.Start(context.WithoutCancel(t.Context()), mongotest.Config{Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func logger(t testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

// openStore opens a database; the caller must close the store.
func openStore(t testing.TB, uri string, config mongo.Config) *mongo.Store {
	t.Helper()
	config.Logger = logger(t)
	store, err := mongo.Open(t.Context(), uri, config)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// closing closes a store with the test.
func closing(t testing.TB, store *mongo.Store) *mongo.Store {
	t.Helper()
	t.Cleanup(func() {
		if err := store.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return store
}

func TestConformance(t *testing.T) {
	server := startServer(t)
	var databases atomic.Int64
	name := ""
	open := func(t *testing.T, name string) storetest.Store {
		return openStore(t, server.URI(), mongo.Config{Database: name})
	}
	storetest.RunDurable(t, func(t *testing.T) storetest.Store {
		name = fmt.Sprintf("test%d", databases.Add(1))
		return open(t, name)
	}, func(t *testing.T) storetest.Store { return open(t, name) })
}

// TestConformanceInSmallBulks makes every batch of the suite take many commands, several at once.
func TestConformanceInSmallBulks(t *testing.T) {
	server := startServer(t)
	var databases atomic.Int64
	storetest.Run(t, func(t *testing.T) storetest.Store {
		return openStore(t, server.URI(), mongo.Config{
			Database: fmt.Sprintf("test%d", databases.Add(1)), BulkSize: 7, ScanLimit: 10, PrimaryOnly: true,
		})
	})
}
