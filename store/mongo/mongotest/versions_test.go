package mongotest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/tidewheel/tidewheel/store/mongo"
)

// earlierNode reports itself active as nodes of every version do, until end is called, and records which schema versions it read.
func earlierNode(t *testing.T, database *driver.Database) (end func() (versions []string)) {
	t.Helper()
	var node sync.WaitGroup
	done := make(chan struct{})
	var seen []string
	node.Go(func() {
		for {
			filter := d("_id", "roll", "here", d("$ne", "old-1 (process 7)"))
			answered, err := database.Collection("meta").UpdateOne(t.Context(), filter, d("$addToSet", d("here", "old-1 (process 7)")))
			if err != nil {
				t.Error(err)
				return
			}
			if answered.ModifiedCount > 0 {
				seen = append(seen, fmt.Sprint(one(t, database.Collection("meta"), "schema")["version"]))
			}
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	return func() []string {
		close(done)
		node.Wait()
		return seen
	}
}

// A node does not begin to write what nodes of an earlier version misread while one of them is there; and none starts any more
// from when it looks.
func TestADatabaseInUseByAnEarlierVersionIsNotBroughtForward(t *testing.T) {
	server := startServer(t)
	database := connect(t, server.URI()).Database("mixed")
	meta := database.Collection("meta")
	_, err := meta.InsertOne(t.Context(), d("_id", "schema", "version", 2, "created_at", time.Now()))
	must(t, err)
	open := func() (*mongo.Store, error) {
		return mongo.Open(t.Context(), server.URI(), mongo.Config{Database: "mixed", ActiveServersWait: 300 * time.Millisecond, Logger: logger(t)})
	}
	wantSchema := func(version string) {
		t.Helper()
		if schema := one(t, meta, "schema"); fmt.Sprint(schema["version"]) != version || schema["from"] != nil {
			t.Errorf("the schema is %v; wanted version %s", schema, version)
		}
	}
	for _, crashed := range []bool{false, true} {
		if crashed { // in the middle of bringing it forward
			_, err := meta.UpdateOne(t.Context(), d("_id", "schema"), d("$set", d("version", 3, "from", 2)))
			must(t, err)
		}
		end := earlierNode(t, database)
		_, err := open()
		versions := end()
		var schema *mongo.SchemaError
		if !errors.As(err, &schema) || schema.Found != 2 || schema.Known != 3 || !slices.Equal(schema.Here, []string{"old-1 (process 7)"}) {
			t.Fatalf("a node beside one of version 2: %v", err)
		}
		if text := err.Error(); !strings.Contains(text, "old-1 (process 7)") || !strings.Contains(text, "Stop all nodes with the role engine or web, then start one") {
			t.Errorf("it does not say who is there and in which order to update: %s", text)
		}
		if !slices.Equal(versions, []string{"3"}) {
			t.Errorf("while the node of version 2 was asked, a second one would have read the versions %v", versions)
		}
		wantSchema("2") // what is there continues, and may be restarted
	}
	var nodes sync.WaitGroup
	for range 3 {
		nodes.Go(func() {
			store, err := open()
			if err != nil {
				t.Error(err)
				return
			}
			closing(t, store)
		})
	}
	nodes.Wait()
	wantSchema("3")
}
