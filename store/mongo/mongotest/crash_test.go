package mongotest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"testing"

	"github.com/tidewheel/tidewheel/e2e"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/mongo/mongotest"
)

// The whole product on a MongoDB: killed in the middle of running jobs it loses no slot and starts no attempt twice.
func TestKilledServerLosesNoSlotAndStartsNoAttemptTwice(t *testing.T) {
	program := buildProduct(t)
	server, err := mongotest.Start(t.Context(), mongotest.Config{
		Address: "127.0.0.1:0", Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	e2e.Crash(t, program, "--mongodb-uri", server.URI())
}

// The same on whatever server TIDEWHEEL_TEST_MONGODB_URI names, in a database of its own that is dropped afterwards.
func TestKilledServerOnAServer(t *testing.T) {
	uri := os.Getenv("TIDEWHEEL_TEST_MONGODB_URI")
	if uri == "" {
		t.Skip("TIDEWHEEL_TEST_MONGODB_URI is not set")
	}
	parsed, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	parsed.Path = "/tidewheel_crash_" + rand.Text()
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		store, err := mongo.Open(ctx, parsed.String(), mongo.Config{})
		if err != nil {
			t.Error(err)
			return
		}
		if err := errors.Join(store.Drop(ctx), store.Close(ctx)); err != nil {
			t.Error(err)
		}
	})
	e2e.Crash(t, buildProduct(t), "--mongodb-uri", parsed.String())
}

func buildProduct(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil { // jobs may run as nobody
		t.Fatal(err)
	}
	program, err := e2e.Build(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return program
}
