package ferrettest_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest/ferrettest"
)

func TestPingAndCRUD(t *testing.T) {
	client, err := mongo.Connect(options.Client().ApplyURI(ferrettest.FerretDB(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Disconnect(context.Background()); err != nil {
			t.Error(err)
		}
	})
	ctx := t.Context()
	if err := client.Ping(ctx, nil); err != nil {
		t.Fatal(err)
	}
	runs := client.Database("smoke").Collection("runs")
	if _, err := runs.InsertOne(ctx, bson.D{{Key: "_id", Value: "a"}, {Key: "n", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := runs.InsertOne(ctx, bson.D{{Key: "_id", Value: "a"}}); !mongo.IsDuplicateKeyError(err) {
		t.Fatalf("second insert of one _id: %v", err)
	}
	updated, err := runs.UpdateOne(ctx, bson.M{"_id": "a", "n": 1}, bson.M{"$set": bson.M{"n": 2}})
	if err != nil || updated.ModifiedCount != 1 {
		t.Fatalf("update: %+v, %v", updated, err)
	}
	var found struct{ N int }
	if err := runs.FindOne(ctx, bson.M{"_id": "a"}).Decode(&found); err != nil || found.N != 2 {
		t.Fatalf("found %+v, %v", found, err)
	}
	deleted, err := runs.DeleteOne(ctx, bson.M{"_id": "a"})
	if err != nil || deleted.DeletedCount != 1 {
		t.Fatalf("delete: %+v, %v", deleted, err)
	}
}
