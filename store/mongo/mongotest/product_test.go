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

// scenarios are what the whole product goes through on each store: those of e2e's own tests, which run on SQLite.
var scenarios = []struct {
	name string
	run  func(t *testing.T, binary string, args ...string)
}{
	{"a killed server loses no slot and starts no attempt twice", e2e.Crash},
	{"an outage misses exactly the slots that the ledger names", e2e.Missed},
	{"a killed server ends its waves", e2e.CrashDAG},
	{"every edge of a large wave is respected", e2e.LargeWave},
	{"killed programs charge once", e2e.Effects},
	{"events start one run each though the server is killed", e2e.Events},
	{"events start one run each though nodes are killed", e2e.EventsOfTwoNodes},
}

func TestProduct(t *testing.T) {
	program := buildProduct(t)
	for _, scenario := range scenarios {
		t.Run(scenario.name, func(t *testing.T) {
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
			scenario.run(t, program, "--mongodb-uri", server.URI())
		})
	}
}

// The same on whatever server TIDEWHEEL_TEST_MONGODB_URI names, in databases of their own that are dropped afterwards.
func TestProductOnAServer(t *testing.T) {
	uri := os.Getenv("TIDEWHEEL_TEST_MONGODB_URI")
	if uri == "" {
		t.Skip("TIDEWHEEL_TEST_MONGODB_URI is not set")
	}
	program := buildProduct(t)
	for _, scenario := range scenarios {
		t.Run(scenario.name, func(t *testing.T) {
			parsed, err := url.Parse(uri)
			if err != nil {
				t.Fatal(err)
			}
			parsed.Path = "/tidewheel_" + rand.Text()
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
			scenario.run(t, program, "--mongodb-uri", parsed.String())
		})
	}
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
