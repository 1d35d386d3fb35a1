package blob

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/internal/certs"
	"github.com/tidewheel/tidewheel/internal/certs/certstest"
)

// An S3 whose certificate is of an authority of its user's own, and is replaced with the authority while the store is used.
func TestStoreTrustsTheAuthoritiesOfNow(t *testing.T) {
	ca, now := certstest.New(t), time.Now()
	tick := func() time.Time { now = now.Add(time.Second); return now }
	cert, key := ca.Issue(time.Now().Add(300*24*time.Hour), "127.0.0.1")
	pair, err := certs.Open(cert, key, slog.New(slog.DiscardHandler), tick)
	if err != nil {
		t.Fatal(err)
	}
	behind, err := url.Parse(server.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = behind.Scheme, behind.Host }})
	front.Listener = tls.NewListener(front.Listener, pair.Server())
	front.Start()
	defer front.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	trust, err := certs.OpenTrust(ca.File, slog.New(slog.DiscardHandler), tick)
	if err != nil {
		t.Fatal(err)
	}
	keys := server.Credentials()
	config := Config{
		Endpoint: strings.Replace(front.URL, "http://", "https://", 1), Region: server.Region(), Bucket: "trust", AccessKey: keys.AccessKey, SecretKey: keys.SecretKey, PathStyle: true,
	}
	var unknown x509.UnknownAuthorityError
	if _, err := Open(t.Context(), config); !errors.As(err, &unknown) {
		t.Errorf("with the machine's authorities: %v", err)
	}
	config.Trusted = trust.Pool
	store, err := Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	next := certstest.New(t)
	next.IssueTo(cert, key, time.Now().Add(300*24*time.Hour), "127.0.0.1")
	if err := os.Rename(next.File, ca.File); err != nil {
		t.Fatal(err)
	}
	front.CloseClientConnections()
	if err := store.Ping(t.Context()); err != nil {
		t.Errorf("after the authority was replaced: %v", err)
	}
}
