package mongotest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tidewheel/tidewheel/e2e"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/moving"
	"github.com/tidewheel/tidewheel/store/mongo"
	"github.com/tidewheel/tidewheel/store/sqlite"
	"github.com/tidewheel/tidewheel/store/storetest"
)

// A server at work moves from SQLite to MongoDB and back, and no slot is lost or run twice.
func TestMovingHouse(t *testing.T) {
	program := buildProduct(t)
	uri := startServer(t).URI()
	e2e.Move(t, program, uri, func(file string) {
		t.Helper()
		database := openStore(t, uri, mongo.Config{PrimaryOnly: true})
		defer func() {
			if err := database.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		embedded := openFile(t, file)
		defer func() {
			if err := embedded.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}()
		want, got := everything(t, embedded), everything(t, database)
		// MongoDB keeps the instants of waves to the millisecond.
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(time.Millisecond-1)); diff != "" || len(want) == 0 {
			t.Errorf("%d documents (-SQLite +MongoDB):\n%s", len(want), diff)
		}
	})
}

// Each backup of a running server on MongoDB is of one moment, from which another server continues: on MongoDB and
// S3, or in a folder.
func TestBackupsOfAServerOnMongoDBThatWorks(t *testing.T) {
	program := buildProduct(t)
	e2e.Backup(t, program, startServer(t).URI(), [...]string{startServer(t).URI(), "", startServer(t).URI()})
}

func openFile(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path, sqlite.Config{Logger: logger(t)})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// everything reads what a store holds, by place.
func everything(t *testing.T, store moving.Source) map[string]engine.Document {
	t.Helper()
	return everythingOf(t, store.View, func() {})
}

// everythingOf reads what a view shows, by place; after each page something happens.
func everythingOf(t *testing.T, view func(context.Context, func(engine.DocumentPages) error) error, happens func()) map[string]engine.Document {
	t.Helper()
	found := map[string]engine.Document{}
	if err := view(t.Context(), func(pages engine.DocumentPages) error {
		for _, of := range engine.Collections() {
			for from := ""; ; {
				page, next, err := pages(of, from, 100)
				if err != nil {
					return err
				}
				for _, document := range page {
					_, id := document.Place()
					found[string(of)+" "+id] = document
				}
				happens()
				if next == "" {
					break
				}
				from = next
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

var errPower = errors.New("the power went")

// Whatever a store may hold comes through both of them, however often the way there breaks off.
func TestWhatAStoreHoldsMovesThereAndBack(t *testing.T) {
	server := startServer(t)
	storetest.RunSeededStore(t, func(t *testing.T) storetest.Store { return openFile(t, t.TempDir()+"/from.db") }, func(t *testing.T, from storetest.Store) {
		there := closing(t, openStore(t, server.URI(), mongo.Config{Database: "there", PrimaryOnly: true}))
		back := openFile(t, t.TempDir()+"/back.db")
		t.Cleanup(func() {
			if err := back.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		want := everything(t, from)
		for _, way := range [][2]moving.Store{{from, there}, {there, back}} {
			var position moving.Position
			saves := 0
			for {
				_, err := moving.CopyDocuments(t.Context(), way[0], way[1], position, func(p moving.Position) error {
					position = p
					if saves++; saves <= 2 {
						return errPower
					}
					return nil
				}, nil)
				if err == nil {
					break
				}
				if !errors.Is(err, errPower) {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, everything(t, way[1]), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	})
}
