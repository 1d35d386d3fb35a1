// Package ferrettest starts an embedded FerretDB (SQLite backend) for tests: a second opinion on the protocol, from a
// server that shares no code with mongotest's engine.
//
// It is only that. Its updates are not atomic, a bulk write of 1,000 updates hangs it, arrayFilters, TTL indexes,
// partial indexes and update pipelines are missing, and the modifiers of $push are silently ignored. It says it is a
// standalone server, so drivers use no retryable writes with it.
package ferrettest

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/FerretDB/FerretDB/ferretdb"
)

// FerretDB starts a server whose data is in a folder of the test and which ends with it. It returns the connection
// string.
func FerretDB(t testing.TB) string {
	t.Helper()
	folder := t.TempDir()
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: "127.0.0.1:0"},
		Logger:    slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		Handler:   "sqlite",
		SQLiteURL: "file:" + filepath.ToSlash(folder) + "/",
	})
	if err != nil {
		t.Fatalf("start FerretDB: %s", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run FerretDB: %s", err)
		}
	})
	return server.MongoDBURI() // waits until it listens
}
