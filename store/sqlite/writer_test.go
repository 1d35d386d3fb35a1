package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/storetest"
)

var testStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func openStore(t testing.TB) (*Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.db")
	store, err := Open(t.Context(), path, Config{Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return store, path
}

func testRun(n int) engine.Run {
	const uid = "reportaaaaaaaaaa"
	slot := testStart.Add(time.Duration(n) * time.Second)
	return engine.Run{
		ID: engine.SlotRunID(uid, slot), Revision: 1, Namespace: "default", JobUID: uid, Job: "report", Slot: slot, CreatedAt: slot,
		Status: engine.StatusScheduled, Tier: spec.TierLight, Reason: strings.Repeat("because ", 100),
	}
}

func testBatch(from, to int) *engine.Batch {
	batch := &engine.Batch{}
	for n := from; n < to; n++ {
		batch.Runs = append(batch.Runs, testRun(n))
	}
	return batch
}

// number asks the writer's connection.
func (s *Store) number(t *testing.T, query string) (n int64) {
	t.Helper()
	if err := s.write(t.Context(), 1, func(w *writer) (err error) {
		n, err = w.number(query)
		return err
	}); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

func TestFullDiskRefusesWritesAndDoesNoHarm(t *testing.T) {
	store, _ := openStore(t)
	ctx := t.Context()
	if err := storetest.Write(ctx, store, *testBatch(0, 100)); err != nil {
		t.Fatal(err)
	}
	store.number(t, fmt.Sprintf("PRAGMA max_page_count = %d", store.number(t, "PRAGMA page_count")+20))

	err := storetest.Write(ctx, store, *testBatch(100, 1100))
	if !errors.Is(err, engine.ErrFull) || !strings.Contains(err.Error(), "free some space") {
		t.Fatalf("got %v", err)
	}
	if runs, err := store.RunsByID(ctx, []string{testRun(100).ID, testRun(5).ID}); err != nil || len(runs) != 1 {
		t.Fatalf("after the refused batch there are %d runs, %v", len(runs), err)
	}
	// What needs no space is done, whatever shares its transaction.
	answers := make(chan error)
	go func() {
		err := storetest.Write(ctx, store, *testBatch(100, 1100))
		answers <- err
	}()
	for n := range 20 {
		go func() {
			err := storetest.Write(ctx, store, engine.Batch{DropRuns: []string{testRun(n).ID}})
			answers <- err
		}()
	}
	refused := 0
	for range 21 {
		if err := <-answers; errors.Is(err, engine.ErrFull) {
			refused++
		} else if err != nil {
			t.Error(err)
		}
	}
	if refused != 1 {
		t.Errorf("%d writes were refused, not the large one alone", refused)
	}
	store.number(t, "PRAGMA max_page_count = 1000000")
	if err := storetest.Write(ctx, store, *testBatch(100, 1100)); err != nil {
		t.Fatalf("with space again: %v", err)
	}
	if runs, err := store.ActiveRuns(ctx, []int{0}, "", 2000); err != nil || len(runs) != 1080 {
		t.Fatalf("%d runs in the end, %v", len(runs), err)
	}
}

func TestAFailedRequestFailsAlone(t *testing.T) {
	store, _ := openStore(t)
	// The writer is suspended until all requests wait, so that they are one group.
	hold, held := make(chan struct{}), make(chan struct{})
	answers := make(chan error)
	go func() {
		answers <- store.write(t.Context(), 1, func(*writer) error {
			close(held)
			<-hold
			return nil
		})
	}()
	<-held
	groups := map[int]int{}
	for n := range 20 {
		r := request{ctx: t.Context(), weight: 1, done: make(chan error, 1), do: func(w *writer) error {
			groups[n]++
			if _, err := w.exec("INSERT INTO run_namespaces (namespace) VALUES (?)", fmt.Sprint(n)); err != nil {
				return err
			}
			if n == 10 {
				_, err := w.exec("INSERT INTO run_namespaces (namespace) VALUES (?)", "10") // twice: refused by SQLite
				return err
			}
			return nil
		}}
		if err := store.writer.hand(store.writer.requests, r); err != nil {
			t.Fatal(err)
		}
		go func() {
			err := <-r.done
			if (err != nil) != (n == 10) {
				err = fmt.Errorf("request %d: %w", n, err)
				t.Error(err)
			}
			answers <- nil
		}()
	}
	close(hold)
	for range 21 {
		if err := <-answers; err != nil {
			t.Fatal(err)
		}
	}
	if kept := store.number(t, "SELECT count(*) FROM run_namespaces"); kept != 19 {
		t.Errorf("%d of 19 writes were kept", kept)
	}
	if groups[0] != 2 {
		t.Errorf("request 0 was done %d times: the requests were no group", groups[0])
	}
}

func TestReadersDoNotWaitForTheWriter(t *testing.T) {
	store, _ := openStore(t)
	batch := testBatch(0, 10)
	for n := range 5 {
		batch.Runs[n].Status, batch.Runs[n].FinishedAt = engine.StatusSucceeded, testStart
	}
	if err := storetest.Write(t.Context(), store, *batch); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	hold, held := make(chan struct{}), make(chan struct{})
	go func() {
		written <- store.write(t.Context(), 1, func(w *writer) error {
			if _, err := w.exec("DELETE FROM runs_history"); err != nil {
				return err
			}
			for n := range 5 {
				if err := w.removeRun(testRun(5 + n).ID); err != nil {
					return err
				}
			}
			close(held)
			<-hold
			return nil
		})
	}()
	<-held // a transaction is open now, and stays so
	for range 20 {
		runs, _, err := store.Runs(t.Context(), engine.RunFilter{Namespace: "default", Limit: 100})
		if err != nil || len(runs) != 10 {
			t.Fatalf("%d runs, %v", len(runs), err)
		}
	}
	close(hold)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if runs, _, err := store.Runs(t.Context(), engine.RunFilter{Limit: 100}); err != nil || len(runs) != 0 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
}

func TestAWaitThatEndsLeavesTheWriterAtWork(t *testing.T) {
	store, _ := openStore(t)
	hold, held := make(chan struct{}), make(chan struct{})
	written := make(chan error, 1)
	go func() {
		written <- store.write(t.Context(), 1, func(*writer) error {
			close(held)
			<-hold
			return nil
		})
	}()
	<-held
	ctx, cancel := context.WithCancelCause(t.Context())
	given := make(chan error, 1)
	go func() {
		err := storetest.Write(ctx, store, *testBatch(0, 1))
		given <- err
	}()
	why := errors.New("nobody waits any more")
	cancel(why)
	if err := <-given; !errors.Is(err, why) {
		t.Fatalf("got %v", err)
	}
	close(hold)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	if err := storetest.Write(t.Context(), store, *testBatch(0, 1)); err != nil {
		t.Fatal(err)
	}
}

func TestAPageOfHistoryScansABoundedNumberOfRuns(t *testing.T) {
	store, _ := openStore(t)
	const many = scanRows + 500
	batch := testBatch(0, many)
	for i := range batch.Runs {
		batch.Runs[i].Status = engine.StatusSucceeded
		batch.Runs[i].FinishedAt = testStart
		batch.Runs[i].Reason = ""
	}
	batch.Runs[0].Reason = "the needle"
	if err := storetest.Write(t.Context(), store, *batch); err != nil {
		t.Fatal(err)
	}
	filter := engine.RunFilter{Namespace: "default", Text: "needle", Limit: 10}
	runs, next, err := store.Runs(t.Context(), filter)
	if err != nil || len(runs) != 0 || next == "" {
		t.Fatalf("the first page has %d runs, the next is %q, %v", len(runs), next, err)
	}
	filter.Cursor = next
	runs, next, err = store.Runs(t.Context(), filter)
	if err != nil || len(runs) != 1 || runs[0].ID != batch.Runs[0].ID || next != "" {
		t.Fatalf("the second page has %d runs, the next is %q, %v", len(runs), next, err)
	}
}

// No list may read a table from end to end, however it is filtered.
func TestHistoryUsesItsIndexes(t *testing.T) {
	store, _ := openStore(t)
	if err := storetest.Write(t.Context(), store, *testBatch(0, 1)); err != nil {
		t.Fatal(err)
	}
	plans := 0
	err := store.moment(t.Context(), func(_ context.Context, reader *snapshot) error {
		for _, filter := range []engine.RunFilter{
			{}, {Namespace: "default"}, {JobUID: "reportaaaaaaaaaa"}, {Namespace: "default", Statuses: engine.Statuses()}, {Namespace: "default", By: "ada"},
			{Namespace: "default", Statuses: []engine.Status{engine.StatusFailed, engine.StatusRunning}}, {Namespace: "default", Tier: spec.TierHeavy},
			{Namespace: "default", Tier: spec.TierLight, Text: "x", Since: testStart, Until: testStart.Add(time.Hour)},
		} {
			ranges, err := reader.ranges(t.Context(), &filter)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range ranges {
				query, args := r.query(&filter, newest)
				rows, err := reader.conn.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
				if err != nil {
					t.Fatalf("%s: %v", query, err)
				}
				for rows.Next() {
					var id, parent, unused int
					var detail string
					if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
						t.Fatal(err)
					}
					plans++
					sorts := strings.Contains(detail, "TEMP B-TREE")
					if sorts || strings.HasPrefix(detail, "SCAN") && !strings.HasPrefix(detail, "SCAN s") {
						t.Errorf("%s\n%s", query, detail)
					}
				}
				if err := errors.Join(rows.Err(), rows.Close()); err != nil {
					t.Fatal(err)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if plans < 15 {
		t.Errorf("looked at %d steps of plans only", plans)
	}
}

// What can wait is not done while anything else waits, and each such thing alone.
func TestWhatCanWaitIsDoneLast(t *testing.T) {
	t.Parallel()
	store, _ := openStore(t)
	held, hold := make(chan struct{}), make(chan struct{})
	var order []string
	var group sync.WaitGroup
	write := func(how func(context.Context, int, func(*writer) error) error, do func(*writer) error) {
		group.Go(func() {
			if err := how(t.Context(), 1, do); err != nil {
				t.Error(err)
			}
		})
	}
	write(store.write, func(*writer) error { close(held); <-hold; return nil })
	<-held
	done := make(chan struct{}, 2)
	for range 2 {
		write(store.writeIdle, func(*writer) error { order = append(order, "idle"); done <- struct{}{}; return nil })
	}
	r := request{ctx: t.Context(), weight: 1, done: make(chan error, 1), do: func(*writer) error { order = append(order, "other"); return nil }}
	if err := store.writer.hand(store.writer.requests, r); err != nil {
		t.Fatal(err)
	}
	close(hold)
	if err := <-r.done; err != nil {
		t.Error(err)
	}
	<-done
	<-done
	group.Wait()
	if !slices.Equal(order, []string{"other", "idle", "idle"}) {
		t.Errorf("done in the order %v", order)
	}
}
