package mongotest_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/mongo"
)

func TestOpenTwiceAndAtOnce(t *testing.T) {
	server := startServer(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			store, err := mongo.Open(t.Context(), server.URI(), mongo.Config{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := store.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	documents, err := connect(t, server.URI()).Database(mongo.DefaultDatabase).Collection("meta").CountDocuments(t.Context(), bson.D{})
	if err != nil || documents != 1 {
		t.Errorf("%d documents in meta: %v", documents, err)
	}
}

func TestOpenRefusesADatabaseOfANewerVersion(t *testing.T) {
	server := startServer(t)
	database := connect(t, server.URI()).Database("newer")
	_, err := database.Collection("meta").InsertOne(t.Context(), bson.D{{Key: "_id", Value: "schema"}, {Key: "version", Value: 99}})
	must(t, err)
	_, err = mongo.Open(t.Context(), server.URI(), mongo.Config{Database: "newer"})
	var newer *mongo.SchemaError
	if !errors.As(err, &newer) || newer.Found != 99 || !strings.Contains(err.Error(), "newer Tidewheel") {
		t.Errorf("got %v", err)
	}
	names, err := database.ListCollectionNames(t.Context(), bson.D{})
	if err != nil || len(names) != 1 {
		t.Errorf("it was touched: %v, %v", names, err)
	}
}

func TestOpenNamesAnIndexInTheWay(t *testing.T) {
	server := startServer(t)
	database := connect(t, server.URI()).Database("indexed")
	_, err := database.Collection("jobs").Indexes().CreateOne(t.Context(), driver.IndexModel{
		Keys: bson.D{{Key: "name", Value: 1}}, Options: options.Index().SetName("uid"),
	})
	must(t, err)
	_, err = mongo.Open(t.Context(), server.URI(), mongo.Config{Database: "indexed"})
	var conflict *mongo.IndexError
	if !errors.As(err, &conflict) || !conflict.Conflict || !strings.Contains(err.Error(), `db.jobs.dropIndex("uid")`) {
		t.Errorf("got %v", err)
	}
}

func TestADamagedDocumentIsNamed(t *testing.T) {
	server := startServer(t)
	store := closing(t, openStore(t, server.URI(), mongo.Config{}))
	job := engine.Job{UID: strings.ToLower(rand.Text()[:16]), Namespace: "default", Name: "spoilt", Revision: 1, Generation: 1}
	must(t, store.Jobs().Create(t.Context(), job))
	jobs := connect(t, server.URI()).Database(mongo.DefaultDatabase).Collection("jobs")
	_, err := jobs.UpdateOne(t.Context(), bson.D{{Key: "_id", Value: "default/spoilt"}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "definition.timeout", Value: "soon"}}}})
	must(t, err)
	_, err = store.Jobs().Get(t.Context(), "default", "spoilt")
	var spoilt *mongo.DocumentError
	if !errors.As(err, &spoilt) || spoilt.ID != "default/spoilt" || spoilt.Collection != "jobs" {
		t.Errorf("got %v", err)
	}
}
