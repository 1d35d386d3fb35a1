package auth_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/store/memory"
	"github.com/tidewheel/tidewheel/web/auth"
)

const secret = "tw_abcdefghijklmnopqrstuvwxyz"

type clock struct{ now time.Time }

func newGuard(t *testing.T, c *clock) (*auth.Guard, *access.Directory) {
	t.Helper()
	directory := access.New(memory.New(), secret, func() time.Time { return c.now })
	return auth.NewGuard(directory), directory
}

func request(method string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, "http://tidewheel.example:8080/x", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// session begins one of the root token and returns its cookie as a browser sends it.
func session(t *testing.T, g *auth.Guard, directory *access.Directory) (cookie string) {
	t.Helper()
	w := httptest.NewRecorder()
	if err := g.Begin(w, request("GET"), directory.Root(), "10.0.0.7"); err != nil {
		t.Fatal(err)
	}
	cookies := w.Result().Cookies()
	if len(cookies) != 1 {
		t.Fatalf("cookies %v", cookies)
	}
	return cookies[0].Name + "=" + cookies[0].Value
}

func TestBearerToken(t *testing.T) {
	g, _ := newGuard(t, &clock{time.Now()})
	for header, want := range map[string]error{
		"Bearer " + secret:              nil,
		"bearer  " + secret:             nil,
		"Bearer " + secret + "x":        access.ErrNoToken,
		"Bearer " + secret[1:]:          access.ErrNoToken,
		"Bearer":                        access.ErrNoToken,
		"Basic YWRtaW46" + secret:       access.ErrNoToken,
		strings.Repeat("x", 1000):       access.ErrNoToken,
		"Bearer " + "\u00e4" + secret:   access.ErrNoToken,
		"Token " + secret:               access.ErrNoToken,
		"Bearer " + secret + ", Bearer": access.ErrNoToken,
	} {
		identity, err := g.Check(request("POST", "Authorization", header))
		if !errors.Is(err, want) || want == nil && (identity.Name != access.RootName || identity.Kind != access.KindRoot || !identity.May("any", access.Admin)) {
			t.Errorf("%q: %+v, %v; want %v", header, identity, err, want)
		}
	}
	if _, err := g.Check(request("GET")); !errors.Is(err, auth.ErrNoCredentials) {
		t.Errorf("without credentials: %v", err)
	}
	// A token cannot be sent by another site's page, so where it comes from does not matter.
	if _, err := g.Check(request("POST", "Authorization", "Bearer "+secret, "Sec-Fetch-Site", "cross-site")); err != nil {
		t.Errorf("a token from elsewhere: %v", err)
	}
}

func TestSessionOpensUntilItIsEnded(t *testing.T) {
	c := &clock{time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	g, directory := newGuard(t, c)
	cookie, other := session(t, g, directory), session(t, g, directory)
	identity, err := g.Check(request("GET", "Cookie", cookie))
	if err != nil || identity.Name != access.RootName || identity.Session == "" || !identity.May("any", access.Admin) {
		t.Fatalf("fresh: %+v, %v", identity, err)
	}
	value := strings.TrimPrefix(cookie, auth.Cookie+"=")
	for _, forged := range []string{
		"x", ".", "...", value[:len(value)-2], value + "A", "A" + value, "ada" + strings.TrimPrefix(value, "root"), "a/b.c", strings.Repeat("a", 5000),
	} {
		if _, err := g.Check(request("GET", "Cookie", auth.Cookie+"="+forged)); !errors.Is(err, access.ErrNoSession) {
			t.Errorf("forged %q: %v", forged, err)
		}
	}
	w := httptest.NewRecorder()
	if err := g.End(w, request("POST"), identity); err != nil {
		t.Fatal(err)
	}
	if gone := w.Result().Cookies()[0]; gone.Value != "" || gone.MaxAge >= 0 {
		t.Errorf("ended: %+v", gone)
	}
	if _, err := g.Check(request("GET", "Cookie", cookie)); !errors.Is(err, access.ErrNoSession) {
		t.Errorf("after its end: %v", err)
	}
	if _, err := g.Check(request("GET", "Cookie", other)); err != nil {
		t.Errorf("another session: %v", err)
	}
}

func TestCookieIsKeptFromScriptsAndSites(t *testing.T) {
	g, directory := newGuard(t, &clock{time.Now()})
	secure := request("GET")
	secure.TLS = &tls.ConnectionState{}
	for name, c := range map[string]struct {
		r    *http.Request
		want bool
	}{"plain": {request("GET"), false}, "TLS": {secure, true}, "a proxy with TLS": {request("GET", "X-Forwarded-Proto", "https"), true}} {
		w := httptest.NewRecorder()
		if err := g.Begin(w, c.r, directory.Root(), ""); err != nil {
			t.Fatal(err)
		}
		cookie := w.Result().Cookies()[0]
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.MaxAge != int(access.SessionLife/time.Second) || cookie.Secure != c.want {
			t.Errorf("%s: cookie %+v", name, cookie)
		}
		if strings.Contains(cookie.Value, secret) {
			t.Errorf("the cookie holds the token")
		}
	}
}

func TestOtherSitesChangeNothing(t *testing.T) {
	g, directory := newGuard(t, &clock{time.Now()})
	cookie := session(t, g, directory)
	for _, c := range []struct {
		method  string
		headers []string
		want    error
	}{
		{"POST", []string{"Sec-Fetch-Site", "same-origin"}, nil},
		{"POST", []string{"Sec-Fetch-Site", "none"}, nil},
		{"POST", []string{"Sec-Fetch-Site", "cross-site"}, auth.ErrCrossSite},
		{"DELETE", []string{"Sec-Fetch-Site", "same-site"}, auth.ErrCrossSite},
		{"PUT", []string{"Origin", "https://evil.example"}, auth.ErrCrossSite},
		{"POST", []string{"Origin", "null"}, auth.ErrCrossSite},
		{"POST", []string{"Origin", "http://tidewheel.example:8080"}, nil},
		{"POST", nil, nil}, // no browser
		{"GET", []string{"Sec-Fetch-Site", "cross-site"}, nil},
	} {
		_, err := g.Check(request(c.method, append(c.headers, "Cookie", cookie)...))
		if !errors.Is(err, c.want) {
			t.Errorf("%s %v: %v, want %v", c.method, c.headers, err, c.want)
		}
	}
}

func TestOpenGuardKeepsToThisMachine(t *testing.T) {
	g := auth.Open()
	for host, want := range map[string]error{
		"localhost": nil, "LOCALHOST:8080": nil, "127.0.0.1:8080": nil, "127.1.2.3": nil, "[::1]:8080": nil, "app.localhost:1": nil, "localhost.": nil,
		"evil.example": auth.ErrForeignHost, "localhost.evil.example": auth.ErrForeignHost, "10.0.0.1:8080": auth.ErrForeignHost, "": auth.ErrForeignHost,
		"evillocalhost": auth.ErrForeignHost, "0.0.0.0:8080": auth.ErrForeignHost,
	} {
		r := request("GET")
		r.Host = host
		identity, err := g.Check(r)
		if !errors.Is(err, want) || (err == nil) != identity.May("any", access.Admin) || err == nil && identity.Kind != access.KindLocal {
			t.Errorf("host %q: %+v, %v, want %v", host, identity, err, want)
		}
	}
	r := request("POST", "Sec-Fetch-Site", "cross-site")
	r.Host = "localhost:8080"
	if _, err := g.Check(r); !errors.Is(err, auth.ErrCrossSite) {
		t.Errorf("from another site: %v", err)
	}
}

func TestCodeWorksOnce(t *testing.T) {
	c := &clock{time.Now()}
	codes := auth.NewCodes(func() time.Time { return c.now })
	first, second := codes.Issue(time.Hour), codes.Issue(time.Hour)
	if first == second || len(first) < 20 {
		t.Errorf("codes %q and %q", first, second)
	}
	if !codes.Redeem(first) {
		t.Error("it does not open")
	}
	for _, code := range []string{first, "", "x", second + "x"} {
		if codes.Redeem(code) {
			t.Errorf("%q opens", code)
		}
	}
	c.now = c.now.Add(time.Hour)
	if codes.Redeem(second) {
		t.Error("a code outlives its time")
	}
}
