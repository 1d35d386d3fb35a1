package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/storetest"
)

func logLength(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// writeMuch writes about 100 KiB in each round, over and over what was there.
func writeMuch(t *testing.T, store *Store, rounds int, each func()) {
	t.Helper()
	for range rounds {
		if err := storetest.Write(t.Context(), store, *testBatch(0, 100)); err != nil {
			t.Fatal(err)
		}
		drops := &engine.Batch{}
		for n := range 100 {
			drops.DropRuns = append(drops.DropRuns, testRun(n).ID)
		}
		if err := storetest.Write(t.Context(), store, *drops); err != nil {
			t.Fatal(err)
		}
		if each != nil {
			each()
		}
	}
}

// A log restarts only while no reader uses an earlier snapshot. With enough pages that never happens by itself.
func TestTheLogOfASmallDatabaseStaysShortWhileOthersReadAllTheTime(t *testing.T) {
	if raceDetector {
		t.Skip("what it measures is another matter under the race detector: make test runs it without")
	}
	t.Parallel()
	store, path := openStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	var reads sync.WaitGroup
	overlap := make(chan struct{}, 1)
	for range 3 {
		reads.Go(func() {
			for ctx.Err() == nil {
				err := store.moment(ctx, func(ctx context.Context, s *snapshot) error {
					if _, err := s.texts(ctx, "SELECT namespace FROM run_namespaces"); err != nil {
						return err
					}
					select { // until another one has begun, or a moment has passed
					case overlap <- struct{}{}:
					case <-overlap:
					case <-ctx.Done():
					}
					_, err := s.texts(ctx, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT max(i) FROM n")
					return err
				})
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	longest := int64(0)
	writeMuch(t, store, 400, func() { longest = max(longest, logLength(t, path)) }) // 40 MiB
	cancel()
	reads.Wait()
	if longest > logLeast*3 { // it is emptied once a second at most
		t.Errorf("the log was %d KiB long", longest>>10)
	}
	if longest < logLeast/2 {
		t.Errorf("the log was %d KiB long only: too little was written to say anything", longest>>10)
	}
}

func TestUnusedWriteAheadLogIsTruncated(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data.db")
	conn, err := connect(source(path, "journal_mode(wal)", "wal_autocheckpoint(0)"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.close(); err != nil {
			t.Error(err)
		}
	}()
	if err := conn.script("CREATE TABLE things (a); INSERT INTO things VALUES (zeroblob(1000000))"); err != nil {
		t.Fatal(err)
	}
	c := newCheckpointer(conn, path, func(error) {}, slog.New(slog.DiscardHandler))
	c.wrote(conn, 1, false)
	c.idle(conn) // something was written since the last look
	if logLength(t, path) < 1_000_000 {
		t.Error("the log was emptied although a write had just ended")
	}
	c.idle(conn)
	if length := logLength(t, path); length != 0 {
		t.Errorf("of a log that is at rest %d bytes are left", length)
	}
}

func TestAReadThatKeepsTheLogForTooLongIsEnded(t *testing.T) {
	t.Parallel()
	store, path := openStore(t)
	store.writer.checkpoints.least, store.writer.checkpoints.most, store.writer.checkpoints.reads = 1<<20, 1<<20, 3<<20
	holding, written := make(chan struct{}), make(chan struct{})
	read := make(chan error, 1)
	go func() {
		read <- store.View(t.Context(), func(page engine.DocumentPages) error {
			close(holding)
			<-written
			_, _, err := page(engine.CollectionJobs, "", 10)
			return err
		})
	}()
	<-holding
	// The writer tries to empty the log once a second.
	for store.writer.checkpoints.endedReads.Load() == 0 {
		writeMuch(t, store, 1, nil)
	}
	close(written)
	if err := <-read; !errors.Is(err, errLogLong) {
		t.Errorf("the read ended with %v", err)
	}
	for logLength(t, path) > logKept { // it is emptied now, or this never ends
		writeMuch(t, store, 1, nil)
	}
}

func TestALogIsEmptiedOnAFullDisk(t *testing.T) {
	t.Parallel()
	store, path := openStore(t)
	writeMuch(t, store, 10, nil)
	if length := logLength(t, path); length < 1<<20 {
		t.Fatalf("the log is %d KiB long only: too little was written to say anything", length>>10)
	}
	store.number(t, fmt.Sprintf("PRAGMA max_page_count = %d", store.number(t, "PRAGMA page_count")+20))
	if err := storetest.Write(t.Context(), store, *testBatch(100, 2100)); !errors.Is(err, engine.ErrFull) {
		t.Fatalf("got %v", err)
	}
	// The writer is past what it does after a write once it takes the next one, which then puts nothing into the log.
	store.number(t, "SELECT 1")
	if length := logLength(t, path); length > 0 {
		t.Errorf("%d KiB of log take the space that is missing", length>>10)
	}
}
