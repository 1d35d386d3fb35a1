package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/storetest"
)

// damagedFile is a database that opens and answers most questions, with one page of its history overwritten.
func damagedFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.db")
	store, err := Open(t.Context(), path, Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	batch := testBatch(0, 2000)
	for i := range batch.Runs {
		batch.Runs[i].Status, batch.Runs[i].FinishedAt = engine.StatusSucceeded, testStart
	}
	if err := storetest.Write(t.Context(), store, *batch); err != nil {
		t.Fatal(err)
	}
	size := store.number(t, "PRAGMA page_size")
	if err := store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const leafOfATable = 0x0d
	for page := int64(len(data)) / 2 / size * size; page < int64(len(data)); page += size {
		if data[page] == leafOfATable && bytes.Contains(data[page:page+size], []byte("because")) {
			copy(data[page:page+size], bytes.Repeat([]byte{0xa5}, int(size)/4))
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	t.Fatal("no page of the history was found")
	return ""
}

func isDamage(t *testing.T, when string, err error) {
	t.Helper()
	if !errors.Is(err, engine.ErrDamaged) || !strings.Contains(err.Error(), "is damaged: restore a backup") {
		t.Errorf("%s: %v", when, err)
	}
}

func TestADatabaseWithOneDamagedPageIsRefused(t *testing.T) {
	t.Parallel()
	path := damagedFile(t)
	store, err := Open(t.Context(), path, Config{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		_ = store.Close(t.Context())
	}
	isDamage(t, "opening it", err)
	isDamage(t, "checking it", Check(t.Context(), path))
}

// usable reports which of the ways to use a store still work.
func usable(t *testing.T, store *Store) {
	t.Helper()
	ctx := t.Context()
	isDamage(t, "ping", store.Ping(ctx))
	_, err := store.Run(ctx, testRun(1).ID)
	isDamage(t, "read a run", err)
	_, err = store.ForEngine().ActiveRuns(ctx, []int{0}, "", 10)
	isDamage(t, "the engine's read from memory", err)
	err = storetest.Write(ctx, store, *testBatch(3000, 3001))
	isDamage(t, "commit", err)
}

// Opening looks through a large file for a moment only; the rest is looked at right after.
func TestADatabaseFoundDamagedLaterIsNotUsedAnyMore(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	store, err := open(t.Context(), damagedFile(t), Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}, checkTimes{every: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	store.watched.Wait() // it ends with what it has found
	usable(t, store)
	if err := store.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	if text := log.String(); strings.Count(text, "level=ERROR") != 1 || !strings.Contains(text, "is damaged") {
		t.Errorf("the log says %s", text)
	}
}

func TestDamageThatAReadMeetsEndsTheUseOfTheDatabase(t *testing.T) {
	t.Parallel()
	store, err := open(t.Context(), damagedFile(t), Config{Logger: slog.New(slog.DiscardHandler)}, checkTimes{first: time.Hour, every: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Ping(t.Context()); err != nil {
		t.Errorf("before anybody has met the damage: %v", err)
	}
	isDamage(t, "reading the whole history", store.list(t.Context(), "SELECT doc FROM runs_history", nil, func(*sql.Rows) error { return nil }))
	usable(t, store)
	if err := store.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

func TestAWholeDatabaseIsLookedThroughAndUsed(t *testing.T) {
	t.Parallel()
	store, path := openStore(t)
	if err := storetest.Write(t.Context(), store, *testBatch(0, 100)); err != nil {
		t.Fatal(err)
	}
	if err := store.checks.check(t.Context(), path); err != nil {
		t.Error(err)
	}
	if err := Check(t.Context(), path); err != nil { // beside the server that has it open
		t.Error(err)
	}
	if err := Check(t.Context(), path+".not"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of a file that is not there: %v", err)
	}
	if err := store.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}
