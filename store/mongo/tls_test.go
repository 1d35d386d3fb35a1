package mongo

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/internal/certs"
	"github.com/tidewheel/tidewheel/internal/certs/certstest"
)

// docs/deploy.md says that the options of TLS in a connection string hold: the authority, and the certificate of the client.
func TestConnectionStringMakesTLS(t *testing.T) {
	ca := certstest.New(t)
	cert, key := ca.Issue(time.Now().Add(300*24*time.Hour), "localhost")
	pair, err := certs.Open(cert, key, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := certs.Authorities(ca.File)
	if err != nil {
		t.Fatal(err)
	}
	settings := pair.Server()
	settings.ClientAuth, settings.ClientCAs = tls.RequireAndVerifyClientCert, trusted
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	both := pairInOneFile(t, cert, key)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for options, works := range map[string]bool{
		"tlsCAFile=" + ca.File + "&tlsCertificateKeyFile=" + both:               true,
		"tlsCAFile=" + certstest.New(t).File + "&tlsCertificateKeyFile=" + both: false,
		"tlsCAFile=" + ca.File: false,
	} {
		ctx, cancel := context.WithCancel(t.Context())
		shook := make(chan error, 1)
		go func() {
			defer cancel()
			conn, err := listener.Accept()
			if err != nil {
				shook <- err
				return
			}
			defer conn.Close()
			shook <- tls.Server(conn, settings).HandshakeContext(ctx)
		}()
		_, err := Open(ctx, "mongodb://localhost:"+port+"/?directConnection=true&tls=true&"+options, Config{Logger: slog.New(slog.DiscardHandler)})
		if err == nil {
			t.Fatal("a store that is none was opened")
		}
		if err := <-shook; (err == nil) != works {
			t.Errorf("with %s the handshake ends with %v", options, err)
		}
	}
	if _, err := Open(t.Context(), "mongodb://localhost/?tls=true&tlsCAFile="+ca.File+"x", Config{Logger: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), ca.File+"x") {
		t.Errorf("of a file that is missing: %v", err)
	}
}

// pairInOneFile puts a certificate and its key into one file, as MongoDB wants them.
func pairInOneFile(t *testing.T, files ...string) string {
	t.Helper()
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	path := filepath.Join(t.TempDir(), "client.pem")
	if err := os.WriteFile(path, all, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
