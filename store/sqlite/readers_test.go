package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// pages are reads of the kinds that pages make; several look at one moment of the file.
func pages(store *Store) map[string]func(context.Context) error {
	runs := func(filter engine.RunFilter) func(context.Context) error {
		filter.Limit = 20
		return func(ctx context.Context) error {
			_, _, err := store.Runs(ctx, filter)
			return err
		}
	}
	return map[string]func(context.Context) error{
		"all runs":        runs(engine.RunFilter{}),
		"of a namespace":  runs(engine.RunFilter{Namespace: "default"}),
		"failed runs":     runs(engine.RunFilter{Namespace: "default", Statuses: []engine.Status{engine.StatusFailed, engine.StatusLost}}),
		"of a job by uid": runs(engine.RunFilter{JobUID: "reportaaaaaaaaaa"}),
		"of a job":        runs(engine.RunFilter{Namespace: "default", Job: "report"}),
		"of a DAG":        runs(engine.RunFilter{Namespace: "default", DAG: "etl"}),
		"searched runs":   runs(engine.RunFilter{Namespace: "default", Text: "needle"}),
		"runs by a user":  runs(engine.RunFilter{Namespace: "default", By: "ada"}),
		"waves": func(ctx context.Context) error {
			_, _, err := store.Waves(ctx, engine.WaveFilter{Namespace: "default", Limit: 20})
			return err
		},
		"tallies": func(ctx context.Context) error {
			_, err := store.Tallies(ctx, "default", []engine.Window{{}}, 1000)
			return err
		},
		"marks": func(ctx context.Context) error {
			_, err := store.LatestMarks(ctx, []string{"reportaaaaaaaaaa"}, 10, 0)
			return err
		},
		"backup": func(ctx context.Context) error {
			return store.View(ctx, func(page engine.DocumentPages) error {
				_, _, err := page(engine.CollectionRuns, "", 10)
				return err
			})
		},
	}
}

// A read that holds a connection and asks for another one waits for ever once all of them do so.
func TestNoReadNeedsASecondConnection(t *testing.T) {
	t.Parallel()
	for name := range pages(nil) {
		store, err := Open(t.Context(), filepath.Join(t.TempDir(), "data.db"), Config{Logger: slog.New(slog.DiscardHandler), Readers: 1})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := pages(store)[name](ctx); err != nil {
			t.Errorf("%s, with one connection: %v", name, err)
		}
		cancel()
		if err := store.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}
}

func TestManyPagesAtOnceOnAFreshStoreAllEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for range 20 {
		store, _ := openStore(t)
		begin := make(chan struct{})
		var group sync.WaitGroup
		for name, read := range pages(store) {
			group.Go(func() {
				<-begin
				if err := read(ctx); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		close(begin)
		group.Wait()
	}
}

func TestEngineReadsWhileEveryConnectionOfThePagesIsTaken(t *testing.T) {
	t.Parallel()
	store, _ := openStore(t)
	forEngine := store.ForEngine()
	release, held := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	for range cap(store.readers.free) {
		group.Go(func() {
			if err := store.View(t.Context(), func(engine.DocumentPages) error {
				held <- struct{}{}
				<-release
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
		<-held
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := forEngine.DueTasks(ctx, []int{0}, testStart, testStart.Add(time.Hour)); err != nil {
		t.Errorf("the engine reads what is due: %v", err)
	}
	if _, err := forEngine.Commands(ctx, []int{0}, 10); err != nil {
		t.Errorf("the engine reads commands: %v", err)
	}
	ended, end := context.WithCancelCause(t.Context())
	gone := errors.New("the browser is gone")
	end(gone)
	if err := pages(store)["tallies"](ended); !errors.Is(err, gone) {
		t.Errorf("a page that waits for a connection ends with %v", err)
	}
	close(release)
	group.Wait()
	for name, read := range pages(store) { // the connections are back
		if err := read(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A request that is given up in the middle of its read leaves a connection that others can use.
func TestAReadThatIsGivenUpLeavesItsConnectionUsable(t *testing.T) {
	t.Parallel()
	store, err := Open(t.Context(), filepath.Join(t.TempDir(), "data.db"), Config{Logger: slog.New(slog.DiscardHandler), Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = store.moment(ctx, func(_ context.Context, s *snapshot) error {
		cancel()
		_, err := s.texts(ctx, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n")
		return err
	})
	if err == nil {
		t.Error("an endless read has ended by itself")
	}
	for name, read := range pages(store) {
		limit, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := read(limit); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
	if err := store.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}
