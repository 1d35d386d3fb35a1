package jetstream

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/internal/certs"
	"github.com/tidewheel/tidewheel/internal/certs/certstest"
)

// startTLSServer starts a server that other processes reach with TLS only, and that its own reaches as ever.
func startTLSServer(t *testing.T, ca *certstest.Authority, now func() time.Time) (server *Server, cert, key string) {
	t.Helper()
	cert, key = ca.Issue(time.Now().Add(300*24*time.Hour), "localhost")
	pair, err := certs.Open(cert, key, slog.New(slog.DiscardHandler), now)
	if err != nil {
		t.Fatal(err)
	}
	server, err = StartServer(t.Context(), ServerConfig{StoreDir: t.TempDir(), Listen: "localhost:0", TLS: pair.Server(), Logger: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shutdown(t, server) })
	return server, cert, key
}

func TestEmbeddedServerIsReachedWithTLS(t *testing.T) {
	t.Parallel()
	ca := certstest.New(t)
	server, _, _ := startTLSServer(t, ca, time.Now)
	if err := connect(t, Config{Server: server}).Ping(t.Context()); err != nil {
		t.Errorf("in its own process: %v", err)
	}
	for _, url := range []string{server.URL(), strings.Replace(server.URL(), "tls://", "nats://", 1)} {
		q := connect(t, Config{URL: url, TLS: TLS{CAs: ca.File}})
		if state, err := q.conn.TLSConnectionState(); err != nil || state.ServerName != "localhost" {
			t.Errorf("%s: %+v, %v", url, state, err)
		}
	}
	_, err := Connect(t.Context(), Config{URL: server.URL(), Logger: testLog(t)})
	wantError(t, err, "is not trusted", "--nats-tls-ca")
	_, err = Connect(t.Context(), Config{URL: server.URL(), TLS: TLS{CAs: certstest.New(t).File}, Logger: testLog(t)})
	wantError(t, err, "is not trusted")
	_, err = Connect(t.Context(), Config{URL: strings.Replace(server.URL(), "localhost", "127.0.0.1", 1), TLS: TLS{CAs: ca.File}, Logger: testLog(t)})
	wantError(t, err, "use a name that its certificate has")

	plain, err := StartServer(t.Context(), ServerConfig{StoreDir: t.TempDir(), Listen: "localhost:0", Logger: testLog(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shutdown(t, plain) })
	_, err = Connect(t.Context(), Config{URL: plain.URL(), TLS: TLS{CAs: ca.File}, Logger: testLog(t)})
	wantError(t, err, "speaks no TLS")
}

// An authority is replaced on both sides, and the next connection goes by the new one.
func TestCertificatesAreReadAgainForEachConnection(t *testing.T) {
	t.Parallel()
	ca, now := certstest.New(t), time.Now()
	server, cert, key := startTLSServer(t, ca, func() time.Time { now = now.Add(time.Second); return now })
	q := connect(t, Config{URL: server.URL(), TLS: TLS{CAs: ca.File, Cert: cert, Key: key}})
	next := certstest.New(t)
	next.IssueTo(cert, key, time.Now().Add(300*24*time.Hour), "localhost")
	if err := os.Rename(next.File, ca.File); err != nil {
		t.Fatal(err)
	}
	again := q.listen()
	if err := q.conn.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-again.again:
	case <-time.After(20 * time.Second):
		t.Fatal("the connection was not made again")
	}
	if err := q.Ping(t.Context()); err != nil {
		t.Error(err)
	}
}
