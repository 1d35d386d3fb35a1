package mongotest_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/moving"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/storetest"
)

// What is read of one moment is what there was then, and nothing of what was written or removed since.
func TestAMomentIsReadWhileOthersWrite(t *testing.T) {
	server := startServer(t)
	storetest.RunSeededStore(t, func(t *testing.T) storetest.Store { return openFile(t, t.TempDir()+"/from.db") }, func(t *testing.T, from storetest.Store) {
		store := closing(t, openStore(t, server.URI(), mongo.Config{Database: "moments"}))
		if err := store.CheckMoment(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := moving.CopyDocuments(t.Context(), from, store, moving.Position{}, func(moving.Position) error { return nil }, nil); err != nil {
			t.Fatal(err)
		}
		want := everything(t, from)
		gone := false
		got := everythingOf(t, store.Moment, func() {
			if gone {
				return
			}
			gone = true
			for _, of := range engine.Collections() {
				if err := store.DropDocuments(t.Context(), of); err != nil {
					t.Fatal(err)
				}
			}
			if left := everything(t, store); len(left) > 0 {
				t.Fatalf("there are %d", len(left))
			}
		})
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A server that does not answer may be able to; one that has forgotten says that the moment is gone.
func TestMomentsThatCannotBeRead(t *testing.T) {
	server := startServer(t)
	store := closing(t, openStore(t, server.URI(), mongo.Config{OperationTimeout: time.Second, ServerSelectionTimeout: time.Second}))
	if err := store.Moment(t.Context(), func(pages engine.DocumentPages) error {
		for range 6 { // others read moments meanwhile, and it keeps some only
			if err := store.Moment(t.Context(), func(pages engine.DocumentPages) error {
				_, _, err := pages(engine.CollectionJobs, "", 1)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if _, _, err := pages(engine.CollectionJobs, "", 1); err != nil {
				return err
			}
		}
		return nil
	}); err == nil || !strings.Contains(err.Error(), "raise its parameter minSnapshotHistoryWindowInSeconds") {
		t.Errorf("got %v", err)
	}
	server.Faults().Refuse()
	if err := store.CheckMoment(t.Context()); err == nil || errors.Is(err, mongo.ErrNoMoment) || !errors.Is(err, mongo.ErrUnreachable) {
		t.Errorf("got %v", err)
	}
	if err := server.Faults().Accept(); err != nil {
		t.Fatal(err)
	}
}
