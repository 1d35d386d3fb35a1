package blob

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"sync"
	"time"
)

const responseStart = 5 * time.Minute // a copy of 5 GiB on a slow server answers late

// transport makes connections that trust the authorities of now: when these change it begins new ones.
type transport struct {
	trusted func() *x509.CertPool // nil: the machine's

	mu      sync.Mutex
	pool    *x509.CertPool // that current trusts
	current *http.Transport
}

func newTransport(trusted func() *x509.CertPool) *transport {
	t := &transport{trusted: trusted}
	if trusted != nil {
		t.pool = trusted()
	}
	t.current = connections(t.pool)
	return t
}

func connections(trusted *x509.CertPool) *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: responseStart, // a server that hangs is retried
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted},
	}
}

// RoundTrip sends a request.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.now().RoundTrip(r) }

// CloseIdleConnections frees those that no request uses.
func (t *transport) CloseIdleConnections() { t.now().CloseIdleConnections() }

func (t *transport) now() *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.trusted == nil {
		return t.current
	}
	if pool := t.trusted(); pool != t.pool {
		t.current.CloseIdleConnections() // those in use end with their requests, or by their idle time
		t.pool, t.current = pool, connections(pool)
	}
	return t.current
}
