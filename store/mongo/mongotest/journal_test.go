package mongotest_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/tidewheel/tidewheel/store/mongo/mongotest"
)

// keeping starts a server with a journal.
func keeping(t *testing.T, path string, now func() time.Time) (*mongotest.Server, *mongo.Database, func()) {
	t.Helper()
	server, err := mongotest.Start(context.Background(), mongotest.Config{Journal: path, ExpireInterval: time.Hour, Now: now})
	must(t, err)
	client, err := mongo.Connect(options.Client().ApplyURI(server.URI()))
	must(t, err)
	ended := false
	end := func() {
		if ended {
			return
		}
		ended = true
		must(t, client.Disconnect(context.Background()))
		must(t, server.Close())
	}
	t.Cleanup(end)
	return server, client.Database("tidewheel"), end
}

// allOf is what a server holds: documents in natural order, and indexes.
func allOf(t *testing.T, database *mongo.Database) (all []string) {
	t.Helper()
	names, err := database.ListCollectionNames(t.Context(), bson.D{})
	must(t, err)
	for _, name := range names {
		indexes, err := database.Collection(name).Indexes().ListSpecifications(t.Context())
		must(t, err)
		for _, index := range indexes {
			all = append(all, fmt.Sprintf("%s index %s %s unique %t", name, index.Name, index.KeysDocument, index.Unique != nil && *index.Unique))
		}
		cursor, err := database.Collection(name).Find(t.Context(), bson.D{})
		must(t, err)
		var documents []bson.Raw
		must(t, cursor.All(t.Context(), &documents))
		for _, document := range documents {
			all = append(all, name+" "+document.String())
		}
	}
	return all
}

// A server that begins with the journal of another has everything that the other acknowledged, time after time.
func TestJournalKeepsWhatWasAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	now := time.Now
	server, database, end := keeping(t, path, func() time.Time { return now() })
	ctx, c := t.Context(), database.Collection("c")
	_, err := c.Indexes().CreateMany(ctx, []mongo.IndexModel{
		{Keys: d("unique", 1), Options: options.Index().SetUnique(true).SetPartialFilterExpression(d("unique", d("$gt", 0)))},
		{Keys: d("until", 1), Options: options.Index().SetExpireAfterSeconds(60)},
	})
	must(t, err)
	for i := range 1200 { // more than one batch
		_, err := c.InsertOne(ctx, d("_id", fmt.Sprint("r", i), "unique", i, "n", int64(0), "at", time.UnixMilli(int64(i)), "list", bson.A{1, d("a", nil)}))
		must(t, err)
	}
	_, err = c.UpdateMany(ctx, d("unique", d("$lt", 100)), d("$inc", d("n", 1)))
	must(t, err)
	_, err = c.DeleteOne(ctx, d("_id", "r7"))
	must(t, err)
	_, err = c.InsertMany(ctx, []any{d("_id", "double", "unique", 8)})
	wantCode(t, err, 11000) // and stays so when it is done again
	must(t, c.FindOneAndUpdate(ctx, d("_id", "r9"), d("$set", d("text", "nine")), options.FindOneAndUpdate().SetUpsert(true)).Err())
	_, err = database.Collection("dropped").InsertOne(ctx, d("_id", 1))
	must(t, err)
	must(t, database.Collection("dropped").Drop(ctx))
	_, err = c.InsertOne(ctx, d("_id", "over", "until", now().Add(-time.Minute)))
	must(t, err)
	removed, err := server.Expire()
	must(t, err)
	if removed != 1 {
		t.Fatalf("removed %d", removed)
	}
	want := allOf(t, database)
	for range 3 { // from what was written down, and from its snapshots
		end()
		_, database, end = keeping(t, path, time.Now)
		if diff := cmp.Diff(want, allOf(t, database)); diff != "" {
			t.Fatalf("(-before +after it began again):\n%s", diff)
		}
		_, err = database.Collection("c").InsertOne(ctx, d("_id", "double", "unique", 8))
		wantCode(t, err, 11000)
	}
}

// What was being written when the server was killed is gone, and nothing else.
func TestTornEndOfAJournalIsDropped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	_, database, end := keeping(t, path, nil)
	for _, id := range []string{"a", "b"} {
		_, err := database.Collection("c").InsertOne(t.Context(), d("_id", id))
		must(t, err)
	}
	end()
	text, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, text[:len(text)-3], 0o600))
	_, database, _ = keeping(t, path, nil)
	wantIDs(t, database.Collection("c"), d(), "a")
}

// A retryable write that is repeated after the server has begun again is not done twice.
func TestJournalRemembersRetryableWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	server, database, end := keeping(t, path, nil)
	_, err := database.Collection("c").InsertOne(t.Context(), d("_id", "a", "n", 0))
	must(t, err)
	session := bson.D{{Key: "id", Value: bson.Binary{Subtype: 4, Data: []byte("0123456789abcdef")}}}
	write := d("update", "c", "updates", bson.A{d("q", d("_id", "a"), "u", d("$inc", d("n", 1)))}, "$db", "tidewheel", "lsid", session, "txnNumber", int64(1))
	rawCommand(t, server.Address(), write)
	for range 2 {
		end()
		server, database, end = keeping(t, path, nil)
		rawCommand(t, server.Address(), write)
		if n := one(t, database.Collection("c"), "a")["n"]; n != int32(1) {
			t.Fatalf("it was done again: n is %v", n)
		}
	}
}

// rawCommand sends a command as it is: no driver repeats one to another server.
func rawCommand(t *testing.T, address string, command bson.D) {
	t.Helper()
	body, err := bson.Marshal(command)
	must(t, err)
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	must(t, err)
	defer connection.Close()
	const head, opMsg = 16 + 4 + 1, 2013 // of the message, its flags, and the kind of its only section
	message := make([]byte, head, head+len(body))
	binary.LittleEndian.PutUint32(message, uint32(head+len(body)))
	binary.LittleEndian.PutUint32(message[4:], 1)
	binary.LittleEndian.PutUint32(message[12:], opMsg)
	_, err = connection.Write(append(message, body...))
	must(t, err)
	_, err = io.ReadFull(connection, message)
	must(t, err)
	reply, err := bson.ReadDocument(connection)
	must(t, err)
	if ok, _ := reply.Lookup("ok").AsFloat64OK(); ok != 1 {
		t.Fatalf("answer %s", reply)
	}
}
