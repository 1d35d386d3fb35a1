package mongotest_test

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/tidewheel/tidewheel/e2e/upgrade"
	"github.com/tidewheel/tidewheel/store/mongo/mongotest"
)

// Databases that earlier commits left behind are started from, as data folders are by the tests of e2e/upgrade.
func TestDatabasesOfEarlierVersions(t *testing.T) {
	t.Parallel()
	program := buildProduct(t)
	names := upgrade.Names(t, "mongodb-")
	if len(names) < 2 {
		t.Fatalf("the fixtures are %v", names)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			upgrade.Check(t, program, name, name != "mongodb-3", func(dir string) []string {
				server, err := mongotest.Start(t.Context(), mongotest.Config{
					Address: "127.0.0.1:0", Journal: filepath.Join(dir, "journal"),
					Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
				})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := server.Close(); err != nil {
						t.Error(err)
					}
				})
				return []string{"--mongodb-uri", server.URI()}
			})
		})
	}
}
