package sqlite

import (
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/storetest"
)

func openForDocuments(t *testing.T) *Store {
	t.Helper()
	store, err := Open(t.Context(), filepath.Join(t.TempDir(), "tidewheel.db"), Config{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return store
}

// A new table needs a collection, or an entry here that names what it is rebuilt from: else backups and moves would lose it.
func TestEveryTableIsMoved(t *testing.T) {
	derived := []string{"runs_history", "runs_log", "run_names", "run_dags", "run_namespaces", "shards"} // of runs; terms restart at 1
	store := openForDocuments(t)
	if err := store.list(t.Context(), "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'", nil, func(rows *sql.Rows) error {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		if !slices.Contains(derived, name) && !slices.Contains(engine.Collections(), engine.Collection(name)) {
			t.Errorf("the table %s is in no backup", name)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// What is written while everything is read belongs to another moment: runs that end, or are resumed, or are created.
func TestAViewIsOfOneMoment(t *testing.T) {
	store := openForDocuments(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	run := func(n int, revision int64, status engine.Status) engine.Run {
		slot := at.Add(time.Duration(n) * time.Minute)
		return engine.Run{
			ID: engine.SlotRunID("aaaaaaaaaaaaaaaa", slot), JobUID: "aaaaaaaaaaaaaaaa", Job: "report", Namespace: "default",
			Revision: revision, Status: status, CreatedAt: slot, Slot: slot,
		}
	}
	task := func(revision int64) engine.ScheduledTask {
		return engine.ScheduledTask{ID: "aaaaaaaaaaaaaaaa", Revision: revision, Slot: at, RunAt: at, Namespace: "default", Job: "report"}
	}
	commit := func(batch engine.Batch) {
		t.Helper()
		if err := storetest.Write(t.Context(), store, batch); err != nil {
			t.Fatal(err)
		}
	}
	// 0 and 1 are active, 2 has ended.
	commit(engine.Batch{
		Runs:  []engine.Run{run(0, 1, engine.StatusQueued), run(1, 1, engine.StatusQueued), run(2, 1, engine.StatusFailed)},
		Tasks: []engine.ScheduledTask{task(1)},
	})
	read := func(pages engine.DocumentPages) map[string]int64 {
		t.Helper()
		found := map[string]int64{}
		for _, of := range []engine.Collection{engine.CollectionRuns, engine.CollectionScheduledTasks} {
			for from := ""; ; {
				page, next, err := pages(of, from, 1)
				if err != nil {
					t.Fatal(err)
				}
				for _, document := range page {
					_, id := document.Place()
					if _, twice := found[id]; twice {
						t.Errorf("%s is there twice", id)
					}
					switch d := document.(type) {
					case engine.Run:
						found[id] = d.Revision
					case engine.ScheduledTask:
						found[id] = d.Revision
					}
				}
				if next == "" {
					break
				}
				from = next
			}
		}
		return found
	}
	want := map[string]int64{run(0, 0, 0).ID: 1, run(1, 0, 0).ID: 1, run(2, 0, 0).ID: 1, "aaaaaaaaaaaaaaaa": 1}
	check := func(when string, pages engine.DocumentPages) {
		t.Helper()
		got := read(pages)
		if len(got) != len(want) {
			t.Errorf("%s: got %v", when, got)
		}
		for id, revision := range want {
			if got[id] != revision {
				t.Errorf("%s: %s has revision %d, want %d", when, id, got[id], revision)
			}
		}
	}
	if err := store.View(t.Context(), func(pages engine.DocumentPages) error {
		check("at first", pages)
		commit(engine.Batch{
			Runs: []engine.Run{
				run(0, 2, engine.StatusSucceeded), run(1, 2, engine.StatusRunning),
				run(2, 2, engine.StatusRetrying), run(3, 1, engine.StatusQueued),
			},
			Tasks: []engine.ScheduledTask{task(2)},
		})
		check("after writes", pages)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := store.View(t.Context(), func(pages engine.DocumentPages) error {
		if got := read(pages); len(got) != 5 || got["aaaaaaaaaaaaaaaa"] != 2 {
			t.Errorf("the next view: %v", got)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
