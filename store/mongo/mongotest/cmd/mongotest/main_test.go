package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func TestRunPrintsItsAddressAndKeepsDataBetweenClients(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"--listen", "127.0.0.1:0"}, writer, t.Output()) }()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	for visit := range 2 {
		client, err := mongo.Connect(options.Client().ApplyURI(strings.TrimSpace(line)))
		if err != nil {
			t.Fatal(err)
		}
		c := client.Database("x").Collection("c")
		if _, err := c.InsertOne(t.Context(), bson.M{"_id": visit}); err != nil {
			t.Fatal(err)
		}
		if n, err := c.CountDocuments(t.Context(), bson.M{}); err != nil || n != int64(visit+1) {
			t.Fatalf("visit %d: %d documents, %v", visit, n, err)
		}
		if err := client.Disconnect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

func TestRunRefusesWhatItDoesNotKnow(t *testing.T) {
	if err := run(t.Context(), []string{"--frob"}, io.Discard, t.Output()); err == nil {
		t.Error("an unknown flag was accepted")
	}
	if err := run(t.Context(), []string{"--listen", "256.0.0.1:1"}, io.Discard, t.Output()); err == nil {
		t.Error("an impossible address was accepted")
	}
}
