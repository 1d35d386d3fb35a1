package jetstream

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/executor"
)

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func shutdown(t *testing.T, server *Server) {
	t.Helper()
	if err := server.Shutdown(); err != nil {
		t.Error(err)
	}
}

func TestServerRefusesFolderInUse(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	server := startServer(t, folder, "")
	_, err := StartServer(t.Context(), ServerConfig{StoreDir: folder, Logger: testLog(t)})
	wantError(t, err, "another process uses", folder)
	shutdown(t, server)
	shutdown(t, startServer(t, folder, "")) // free again
}

func TestServerRefusesPortInUse(t *testing.T) {
	t.Parallel()
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	folder := t.TempDir()
	_, err = StartServer(t.Context(), ServerConfig{StoreDir: folder, Listen: taken.Addr().String(), Logger: testLog(t)})
	wantError(t, err, "address already in use", "another address")
	shutdown(t, startServer(t, folder, "")) // the folder was let go
}

func TestServerRefusesDamagedStream(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	server := startServer(t, folder, "")
	q := connect(t, Config{Server: server})
	q.Close()
	shutdown(t, server)
	meta := filepath.Join(folder, "jetstream", "$G", "streams", "RESULTS", "meta.inf")
	if err := os.WriteFile(meta, []byte("not what was written"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := StartServer(t.Context(), ServerConfig{StoreDir: folder, Logger: testLog(t)})
	wantError(t, err, "RESULTS", "damaged", "backup")
}

func TestServerRefusesFolderThatCannotBeMade(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := StartServer(t.Context(), ServerConfig{StoreDir: filepath.Join(file, "store"), Logger: testLog(t)})
	wantError(t, err, "store folder")
}

func TestServerConfig(t *testing.T) {
	t.Parallel()
	log := testLog(t)
	for name, test := range map[string]struct {
		config ServerConfig
		says   string
	}{
		"no folder":               {ServerConfig{Logger: log}, "store folder"},
		"no logger":               {ServerConfig{StoreDir: "x"}, "logger"},
		"open to all":             {ServerConfig{StoreDir: "x", Logger: log, Listen: "0.0.0.0:0"}, "user and password"},
		"open to all by no host":  {ServerConfig{StoreDir: "x", Logger: log, Listen: ":4222"}, "user and password"},
		"no port":                 {ServerConfig{StoreDir: "x", Logger: log, Listen: "localhost"}, "port"},
		"a port that is none":     {ServerConfig{StoreDir: "x", Logger: log, Listen: "localhost:http"}, "no port"},
		"two ways of credentials": {ServerConfig{StoreDir: "x", Logger: log, Credentials: Credentials{User: "u", Token: "t"}}, "only one"},
		"a password without user": {ServerConfig{StoreDir: "x", Logger: log, Credentials: Credentials{Password: "p"}}, "needs a user"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := StartServer(t.Context(), test.config)
			wantError(t, err, test.says)
		})
	}
}

func TestConnectWithCredentials(t *testing.T) {
	t.Parallel()
	for name, credentials := range map[string]Credentials{"user": {User: "tide", Password: "secret"}, "token": {Token: "secret"}} {
		t.Run(name, func(t *testing.T) {
			server, err := StartServer(t.Context(), ServerConfig{StoreDir: t.TempDir(), Listen: "127.0.0.1:0", Credentials: credentials, Logger: testLog(t)})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { shutdown(t, server) })
			for _, config := range []Config{{Server: server}, {URL: server.URL(), Credentials: credentials}} {
				if err := connect(t, config).Ping(t.Context()); err != nil {
					t.Error(err)
				}
			}
			for _, wrong := range []Credentials{{}, {Token: "guess"}, {User: "tide", Password: "guess"}} {
				_, err := Connect(t.Context(), Config{URL: server.URL(), Credentials: wrong, Logger: testLog(t)})
				wantError(t, err, "refuses the credentials", server.URL())
				if strings.Contains(err.Error(), "guess") {
					t.Errorf("the error shows a secret: %v", err)
				}
			}
		})
	}
}

func TestConnectErrorNamesTheCause(t *testing.T) {
	t.Parallel()
	_, err := Connect(t.Context(), Config{URL: "nats://user:secret@127.0.0.1:1", Logger: testLog(t)})
	wantError(t, err, "cannot reach NATS at nats://127.0.0.1:1", "check the address")

	plain, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	plain.Start()
	t.Cleanup(func() { plain.Shutdown(); plain.WaitForShutdown() })
	if !plain.ReadyForConnections(10 * time.Second) {
		t.Fatal("the plain NATS is not ready")
	}
	_, err = Connect(t.Context(), Config{URL: plain.ClientURL(), Logger: testLog(t)})
	wantError(t, err, "no JetStream")

	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() { shutdown(t, server) })
	_, err = Connect(t.Context(), Config{Server: server, Replicas: 3, Logger: testLog(t)})
	wantError(t, err, "cannot keep 3 replicas")

	for _, config := range []Config{{}, {Server: server, URL: "x"}, {Server: server, Prefix: "a.b"}, {Server: server, Replicas: 7}, {Server: server, AckWait: -1}} {
		config.Logger = testLog(t)
		if _, err := Connect(t.Context(), config); err == nil {
			t.Errorf("%+v was taken", config)
		}
	}
}

// TestConnectAtOnce is several processes that start together on an empty NATS.
func TestConnectAtOnce(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "")
	t.Cleanup(func() { shutdown(t, server) })
	errs := make(chan error)
	for range 8 {
		go func() {
			q, err := Connect(t.Context(), Config{Server: server, Logger: testLog(t)})
			if err == nil {
				err = q.Ping(t.Context())
				q.Close()
			}
			errs <- err
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestCrashKeepsTokensGrowing starts a second server on a copy of the first one's files, taken while it ran: what a
// SIGKILL leaves.
func TestCrashKeepsTokensGrowing(t *testing.T) {
	t.Parallel()
	folder, copied := t.TempDir(), t.TempDir()
	server := startServer(t, folder, "")
	q := connect(t, Config{Server: server})
	mine := executor.LockHolder{Run: "run", Attempt: 1, Executor: "x"}
	var last uint64
	for range 50 {
		token, err := q.Lock(t.Context(), "key", mine, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Unlock(t.Context(), "key", token); err != nil {
			t.Fatal(err)
		}
		last = token
	}
	sequence, err := q.Claim(t.Context(), engine.Result{Kind: engine.ResultStarted, Run: "run", Attempt: 1, Executor: "x", Token: last})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	q.Close()
	shutdown(t, server)

	again := startServer(t, copied, "")
	t.Cleanup(func() { shutdown(t, again) })
	q = connect(t, Config{Server: again})
	token, err := q.Lock(t.Context(), "key", mine, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if token <= last {
		t.Errorf("token %d after %d", token, last)
	}
	state, err := q.Inspect(t.Context(), core.Inspect{Run: "run", Attempt: 1, Locks: []string{"key"}})
	if err != nil || state.Sequence != sequence || !state.LockHeld {
		t.Errorf("inspect: %+v, %v, want it claimed at %d and locked", state, err, sequence)
	}
}

func TestCallsFailAtOnceWithoutServer(t *testing.T) {
	t.Parallel()
	server := startServer(t, t.TempDir(), "127.0.0.1:0")
	q := connect(t, Config{URL: server.URL()})
	shutdown(t, server)
	for q.conn.IsConnected() { // until the client has noticed
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // far less than the timeout of a request
	defer cancel()
	_, err := q.Claim(ctx, engine.Result{Kind: engine.ResultStarted, Run: "run", Attempt: 1})
	wantError(t, err, "NATS is not available")
	done := make(chan error, 1)
	q.Publish(benchTask(1), func(err error) { done <- err })
	select {
	case err := <-done:
		wantError(t, err, "NATS is not available")
	case <-ctx.Done():
		t.Error("a publish waits for a NATS that is away")
	}
}
