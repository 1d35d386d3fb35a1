package sqlite_test

import (
	"log/slog"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tidewheel/tidewheel/store/sqlite"
	"github.com/tidewheel/tidewheel/store/storetest"
)

func TestStoreKeepsItsPromises(t *testing.T) {
	var paths sync.Map // test → file
	open := func(t *testing.T) storetest.Store {
		path, _ := paths.LoadOrStore(t.Name(), filepath.Join(t.TempDir(), "tide wheel?#%.db"))
		return open(t, path.(string))
	}
	storetest.RunDurable(t, open, open)
}

func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path, sqlite.Config{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return store
}
