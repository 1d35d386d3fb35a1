package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/sqlite"
)

// refusal opens what cannot be opened and returns the error.
func refusal(t *testing.T, path string) error {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path, sqlite.Config{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		t.Errorf("%s was opened", path)
		_ = store.Close(t.Context())
	}
	return err
}

func says(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not say %q: %v", word, err)
		}
	}
}

func closed(t *testing.T, path string) {
	t.Helper()
	if err := open(t, path).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func alter(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestDataOfANewerVersionIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	closed(t, path)
	alter(t, path, "PRAGMA user_version = 9000")
	err := refusal(t, path)
	newer, ok := errors.AsType[*sqlite.NewerError](err)
	if !ok || newer.Found != 9000 || newer.Path != path {
		t.Fatalf("got %v", err)
	}
	says(t, err, "newer Tidewheel", "schema 9000", "restore a backup")
	alter(t, path, "PRAGMA user_version = 15")
	closed(t, path)
}

func TestADatabaseOfAnotherProgramIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	alter(t, path, "CREATE TABLE theirs (a)")
	says(t, refusal(t, path), "another program")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	tables := 0
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil || tables != 1 {
		t.Errorf("it has %d tables now, %v", tables, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAFileThatIsNoDatabaseIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	text := strings.Repeat("This is a letter to my aunt. ", 1000)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	says(t, refusal(t, path), path, "is not a database")
	if now, err := os.ReadFile(path); err != nil || string(now) != text {
		t.Errorf("the file was changed (%v)", err)
	}
	says(t, refusal(t, filepath.Join(t.TempDir(), "no", "such", "folder", "data.db")), "cannot be written", "folder")
	says(t, refusal(t, t.TempDir()), "cannot be written")
}

func TestDamagedFileIsReportedAsDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	closed(t, path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 100; i < len(data); i++ { // all but the header
		data[i] = 0xa5
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	says(t, refusal(t, path), "damaged", "restore a backup")
}

func TestConfigIsChecked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.db")
	if _, err := sqlite.Open(t.Context(), path, sqlite.Config{}); err == nil || !strings.Contains(err.Error(), "Logger") {
		t.Errorf("without a logger: %v", err)
	}
	if _, err := sqlite.Open(t.Context(), path, sqlite.Config{Logger: slog.New(slog.DiscardHandler), Readers: -1}); err == nil || !strings.Contains(err.Error(), "Readers") {
		t.Errorf("with -1 readers: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := sqlite.Open(ended, path, sqlite.Config{Logger: slog.New(slog.DiscardHandler)}); !errors.Is(err, context.Canceled) {
		t.Errorf("under a context that has ended: %v", err)
	}
}

func TestCloseAnswersWhatWaits(t *testing.T) {
	store := open(t, filepath.Join(t.TempDir(), "data.db"))
	answers := make(chan error)
	for n := range 50 {
		go func() {
			answers <- store.PutCommand(t.Context(), engine.Command{ID: string(rune('a' + n)), At: benchStart})
		}()
	}
	if err := <-answers; err != nil {
		t.Fatal(err)
	}
	if err := store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 49 {
		if err := <-answers; err != nil && !strings.Contains(err.Error(), "closed") {
			t.Error(err)
		}
	}
}
