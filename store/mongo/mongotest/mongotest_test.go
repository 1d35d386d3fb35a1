package mongotest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.uber.org/goleak"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a server and connects to it as the product does.
func start(t testing.TB, configure ...func(*options.ClientOptions)) (*mongotest.Server, *mongo.Database) {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	server, err := mongotest.Start(context.Background(), mongotest.Config{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server, connect(t, server.URI(), configure...).Database("tidewheel")
}

func connect(t testing.TB, uri string, configure ...func(*options.ClientOptions)) *mongo.Client {
	t.Helper()
	journal := true
	choices := options.Client().ApplyURI(uri).SetWriteConcern(&writeconcern.WriteConcern{W: "majority", Journal: &journal})
	for _, change := range configure {
		change(choices)
	}
	client, err := mongo.Connect(choices)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Disconnect(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return client
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantCode demands a server error with a code.
func wantCode(t testing.TB, err error, code int) {
	t.Helper()
	var failure mongo.ServerError
	if !errors.As(err, &failure) || !failure.HasErrorCode(code) {
		t.Fatalf("error %v, want one with code %d", err, code)
	}
}

func d(pairs ...any) bson.D {
	document := bson.D{}
	for i := 0; i < len(pairs); i += 2 {
		document = append(document, bson.E{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return document
}

func ids(t testing.TB, c *mongo.Collection, filter any, choices ...options.Lister[options.FindOptions]) []string {
	t.Helper()
	cursor, err := c.Find(t.Context(), filter, choices...)
	must(t, err)
	var documents []struct {
		ID any `bson:"_id"`
	}
	must(t, cursor.All(t.Context(), &documents))
	found := []string{}
	for _, document := range documents {
		found = append(found, fmt.Sprint(document.ID))
	}
	return found
}

func wantIDs(t testing.TB, c *mongo.Collection, filter any, want ...string) {
	t.Helper()
	if found := ids(t, c, filter, options.Find().SetSort(d("_id", 1))); fmt.Sprint(found) != fmt.Sprint(want) {
		t.Errorf("%v found %v, want %v", filter, found, want)
	}
}

func one(t testing.TB, c *mongo.Collection, id any) bson.M {
	t.Helper()
	document := bson.M{}
	must(t, c.FindOne(t.Context(), d("_id", id)).Decode(&document))
	return document
}
