package web_test

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/internal/certs"
	"github.com/tidewheel/tidewheel/internal/certs/certstest"
	"github.com/tidewheel/tidewheel/web"
)

// newTLSSite is a server with a certificate for localhost, and a browser that trusts it.
func newTLSSite(t *testing.T) *site {
	t.Helper()
	ca := certstest.New(t)
	pair, err := certs.Open(issued(ca))
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(config *web.Config) { config.TLS = pair.Server() })
	trusted, err := certs.Authorities(ca.File)
	if err != nil {
		t.Fatal(err)
	}
	s.client.Transport = &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted}}
	s.url = "https://" + strings.TrimPrefix(s.url, "http://")
	return s
}

func issued(ca *certstest.Authority) (cert, key string, log *slog.Logger, now func() time.Time) {
	cert, key = ca.Issue(time.Now().Add(300*24*time.Hour), "localhost", "127.0.0.1")
	return cert, key, slog.New(slog.DiscardHandler), time.Now
}

func TestTLSSpeaksHTTP2AndMarksCookiesAndPages(t *testing.T) {
	s := newTLSSite(t)
	response := s.open("GET", "/livez", "")
	response.Body.Close()
	if response.ProtoMajor != 2 || response.TLS == nil || response.TLS.Version != tls.VersionTLS13 {
		t.Errorf("answered by %s over %+v", response.Proto, response.TLS)
	}
	if got := response.Header.Get("Strict-Transport-Security"); got != "max-age=31536000" {
		t.Errorf("Strict-Transport-Security %q", got)
	}
	login := s.ask("POST", "/login", "token="+token, "Content-Type", "application/x-www-form-urlencoded").is(303)
	cookie, err := http.ParseSetCookie(login.header.Get("Set-Cookie"))
	if err != nil || !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode {
		t.Errorf("the session's cookie is %+v, %v", cookie, err)
	}
	if plain := newSite(t, nil).ask("GET", "/livez", ""); plain.header.Get("Strict-Transport-Security") != "" {
		t.Error("a server without TLS binds browsers to TLS")
	}
}

func TestOldTLSAndPlainHTTPAreRefused(t *testing.T) {
	s := newTLSSite(t)
	address := strings.TrimPrefix(s.url, "https://")
	old := &tls.Dialer{Config: &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11, InsecureSkipVerify: true}}
	if conn, err := old.DialContext(t.Context(), "tcp", address); err == nil {
		conn.Close()
		t.Error("TLS 1.1 was spoken")
	}
	s.url = "http://" + address
	if plain := s.ask("GET", "/livez", ""); plain.status != http.StatusBadRequest || !strings.Contains(plain.body, "HTTPS") {
		t.Errorf("plain HTTP was answered %d %s", plain.status, plain.body)
	}
}

// The bounds of bodies hold in HTTP/2, too, where one connection carries many requests: the others continue.
func TestStalledBodyOverHTTP2EndsAndHoldsNothingUp(t *testing.T) {
	ca := certstest.New(t)
	pair, err := certs.Open(issued(ca))
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := certs.Authorities(ca.File)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now() // the bubble begins in another year
	onPipesWith(t, func(config *web.Config) { config.TLS = pair.Server() }, func(t *testing.T, p *pipes) {
		connections := 0
		transport := &http.Transport{ForceAttemptHTTP2: true, DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			connections++
			conn := tls.Client(p.dial("203.0.113.9:1"), &tls.Config{
				RootCAs: trusted, ServerName: "localhost", NextProtos: []string{"h2"}, Time: func() time.Time { return now },
			})
			return conn, conn.HandshakeContext(ctx)
		}}
		defer transport.CloseIdleConnections()
		ask := func(method, path string, body io.Reader) *http.Response {
			t.Helper()
			request, err := http.NewRequestWithContext(t.Context(), method, "https://localhost"+path, body)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set(authorization, bearer)
			response, err := transport.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			return response
		}
		began := time.Now()
		stalled, hold := io.Pipe()
		defer hold.Close()
		ended := make(chan *http.Response)
		go func() { ended <- ask("POST", "/theme", stalled) }()
		synctest.Wait()
		if response := ask("GET", "/livez", nil); response.StatusCode != 200 || response.ProtoMajor != 2 || connections != 1 || time.Since(began) > time.Second {
			t.Errorf("beside a body that stalls: %s by %s, %d connections, after %s", response.Status, response.Proto, connections, time.Since(began))
		}
		if response := <-ended; response.StatusCode != http.StatusRequestTimeout || time.Since(began) > 62*time.Second {
			t.Errorf("a body that stalls is answered %s after %s", response.Status, time.Since(began))
		}
	})
}

func TestClientThatShakesNoHandsIsClosed(t *testing.T) {
	ca := certstest.New(t)
	pair, err := certs.Open(issued(ca))
	if err != nil {
		t.Fatal(err)
	}
	onPipesWith(t, func(config *web.Config) { config.TLS = pair.Server() }, func(t *testing.T, p *pipes) {
		client := p.dial("203.0.113.9:1")
		began := time.Now()
		if _, err := client.Read(make([]byte, 1)); err == nil {
			t.Error("the server spoke first")
		}
		if took := time.Since(began); took > 11*time.Second {
			t.Errorf("closed after %s", took)
		}
	})
}
