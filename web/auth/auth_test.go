package auth_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/web/auth"
)

const secret = "tw_abcdefghijklmnopqrstuvwxyz"

type clock struct{ now time.Time }

func newGuard(secret string, c *clock) *auth.Guard {
	return auth.NewGuard(auth.NewToken("admin", secret), auth.Config{SessionLife: 24 * time.Hour, Now: func() time.Time { return c.now }})
}

func request(method string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, "http://tidewheel.example:8080/x", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// session begins one and gives its cookie as a browser sends it.
func session(t *testing.T, g *auth.Guard) (cookie string) {
	t.Helper()
	w := httptest.NewRecorder()
	g.Begin(w, request("GET"), "admin")
	cookies := w.Result().Cookies()
	if len(cookies) != 1 {
		t.Fatalf("cookies %v", cookies)
	}
	return cookies[0].Name + "=" + cookies[0].Value
}

func TestBearerToken(t *testing.T) {
	g := newGuard(secret, &clock{time.Now()})
	for header, want := range map[string]error{
		"Bearer " + secret:              nil,
		"bearer  " + secret:             nil,
		"Bearer " + secret + "x":        auth.ErrBadToken,
		"Bearer " + secret[1:]:          auth.ErrBadToken,
		"Bearer":                        auth.ErrBadToken,
		"Basic YWRtaW46" + secret:       auth.ErrBadToken,
		strings.Repeat("x", 1000):       auth.ErrBadToken,
		"Bearer " + "\u00e4" + secret:   auth.ErrBadToken,
		"Token " + secret:               auth.ErrBadToken,
		"Bearer " + secret + ", Bearer": auth.ErrBadToken,
	} {
		name, err := g.Check(httptest.NewRecorder(), request("POST", "Authorization", header))
		if !errors.Is(err, want) || want == nil && name != "admin" {
			t.Errorf("%q: %q, %v; want %v", header, name, err, want)
		}
	}
	if _, err := g.Check(httptest.NewRecorder(), request("GET")); !errors.Is(err, auth.ErrNoCredentials) {
		t.Errorf("without credentials: %v", err)
	}
	// A token cannot be sent by another site's page, so where it comes from does not matter.
	if _, err := g.Check(httptest.NewRecorder(), request("POST", "Authorization", "Bearer "+secret, "Sec-Fetch-Site", "cross-site")); err != nil {
		t.Errorf("a token from elsewhere: %v", err)
	}
}

func TestSessionLivesAndEnds(t *testing.T) {
	c := &clock{time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	g := newGuard(secret, c)
	cookie := session(t, g)
	check := func(g *auth.Guard, cookie string) (*httptest.ResponseRecorder, error) {
		w := httptest.NewRecorder()
		name, err := g.Check(w, request("GET", "Cookie", cookie))
		if err == nil && name != "admin" {
			t.Errorf("it is the session of %q", name)
		}
		return w, err
	}
	if w, err := check(g, cookie); err != nil || len(w.Result().Cookies()) != 0 {
		t.Errorf("fresh: %v, %v", err, w.Result().Cookies())
	}
	if _, err := check(newGuard(secret, c), cookie); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	if _, err := check(newGuard(secret+"2", c), cookie); !errors.Is(err, auth.ErrExpired) {
		t.Errorf("after a change of the token: %v", err)
	}
	c.now = c.now.Add(13 * time.Hour)
	w, err := check(g, cookie)
	if err != nil || len(w.Result().Cookies()) != 1 {
		t.Fatalf("past its half: %v, %v", err, w.Result().Cookies())
	}
	renewed := w.Result().Cookies()[0]
	c.now = c.now.Add(12 * time.Hour)
	if _, err := check(g, cookie); !errors.Is(err, auth.ErrExpired) {
		t.Errorf("past its end: %v", err)
	}
	if _, err := check(g, renewed.Name+"="+renewed.Value); err != nil {
		t.Errorf("the renewed one: %v", err)
	}
	value := strings.TrimPrefix(cookie, auth.Cookie+"=")
	c.now = c.now.Add(-20 * time.Hour)
	for _, forged := range []string{
		"x", ".", "...", value[:len(value)-2], value + "A", "A" + value, strings.Replace(value, ".1", ".2", 1), strings.Repeat("a", 5000),
	} {
		if _, err := check(g, auth.Cookie+"="+forged); !errors.Is(err, auth.ErrExpired) {
			t.Errorf("forged %q: %v", forged, err)
		}
	}
	if _, err := check(g, cookie); err != nil {
		t.Errorf("the true one: %v", err)
	}
}

func TestCookieIsKeptFromScriptsAndSites(t *testing.T) {
	g := newGuard(secret, &clock{time.Now()})
	secure := request("GET")
	secure.TLS = &tls.ConnectionState{}
	for name, c := range map[string]struct {
		r    *http.Request
		want bool
	}{"plain": {request("GET"), false}, "TLS": {secure, true}, "a proxy with TLS": {request("GET", "X-Forwarded-Proto", "https"), true}} {
		w := httptest.NewRecorder()
		g.Begin(w, c.r, "admin")
		cookie := w.Result().Cookies()[0]
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" || cookie.MaxAge != 24*3600 || cookie.Secure != c.want {
			t.Errorf("%s: cookie %+v", name, cookie)
		}
		if strings.Contains(cookie.Value, secret) {
			t.Errorf("the cookie holds the token")
		}
	}
	w := httptest.NewRecorder()
	if err := g.End(w, request("POST")); err != nil {
		t.Error(err)
	}
	if cookie := w.Result().Cookies()[0]; cookie.Value != "" || cookie.MaxAge >= 0 {
		t.Errorf("ended: %+v", cookie)
	}
}

// nodes is the common memory of web nodes.
type nodes struct {
	ended map[string]bool
	away  error
	asked int
}

func (n *nodes) EndSession(_ context.Context, id string, _ time.Duration) error {
	if n.away == nil {
		n.ended[id] = true
	}
	return n.away
}

func (n *nodes) SessionEnded(_ context.Context, id string) (bool, error) {
	n.asked++
	return n.ended[id], n.away
}

func TestLogoutEndsTheSessionOnTheServer(t *testing.T) {
	c := &clock{time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	memory := &nodes{ended: map[string]bool{}}
	node := func() *auth.Guard {
		return auth.NewGuard(auth.NewToken("admin", secret), auth.Config{SessionLife: 24 * time.Hour, Now: func() time.Time { return c.now }, Ended: memory})
	}
	here, there := node(), node()
	old, other := session(t, here), session(t, here)
	c.now = c.now.Add(13 * time.Hour)
	w := httptest.NewRecorder()
	if _, err := here.Check(w, request("GET", "Cookie", old)); err != nil || len(w.Result().Cookies()) != 1 {
		t.Fatal(err, "it was not renewed")
	}
	renewed := auth.Cookie + "=" + w.Result().Cookies()[0].Value
	want := func(what string, g *auth.Guard, cookie string, want error) {
		t.Helper()
		if _, err := g.Check(httptest.NewRecorder(), request("GET", "Cookie", cookie)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	want("elsewhere, before", there, renewed, nil)
	asked := memory.asked
	want("elsewhere, at once again", there, renewed, nil)
	if memory.asked != asked {
		t.Error("each request asks the other nodes")
	}

	memory.away = errors.New("the queue is away")
	if err := here.End(httptest.NewRecorder(), request("POST", "Cookie", renewed)); !errors.Is(err, memory.away) {
		t.Errorf("a logout that others do not hear of: %v", err)
	}
	want("here all the same", here, renewed, auth.ErrExpired)
	c.now = c.now.Add(time.Minute)
	want("elsewhere, while the memory is away", there, renewed, nil)
	memory.away = nil
	if err := here.End(httptest.NewRecorder(), request("POST", "Cookie", renewed)); err != nil {
		t.Error(err)
	}
	want("here", here, renewed, auth.ErrExpired)
	want("here, by the cookie before it was renewed", here, old, auth.ErrExpired)
	c.now = c.now.Add(5 * time.Second)
	want("elsewhere", there, renewed, auth.ErrExpired)
	want("after a restart", node(), renewed, auth.ErrExpired)
	want("another session", here, other, nil)
	want("another session elsewhere", there, other, nil)
}

func TestOtherSitesChangeNothing(t *testing.T) {
	g := newGuard(secret, &clock{time.Now()})
	cookie := session(t, g)
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
		_, err := g.Check(httptest.NewRecorder(), request(c.method, append(c.headers, "Cookie", cookie)...))
		if !errors.Is(err, c.want) {
			t.Errorf("%s %v: %v, want %v", c.method, c.headers, err, c.want)
		}
	}
}

func TestOpenGuardKeepsToThisMachine(t *testing.T) {
	g := auth.Open(auth.Config{})
	for host, want := range map[string]error{
		"localhost": nil, "LOCALHOST:8080": nil, "127.0.0.1:8080": nil, "127.1.2.3": nil, "[::1]:8080": nil, "app.localhost:1": nil, "localhost.": nil,
		"evil.example": auth.ErrForeignHost, "localhost.evil.example": auth.ErrForeignHost, "10.0.0.1:8080": auth.ErrForeignHost, "": auth.ErrForeignHost,
		"evillocalhost": auth.ErrForeignHost, "0.0.0.0:8080": auth.ErrForeignHost,
	} {
		r := request("GET")
		r.Host = host
		if _, err := g.Check(httptest.NewRecorder(), r); !errors.Is(err, want) {
			t.Errorf("host %q: %v, want %v", host, err, want)
		}
	}
	r := request("POST", "Sec-Fetch-Site", "cross-site")
	r.Host = "localhost:8080"
	if _, err := g.Check(httptest.NewRecorder(), r); !errors.Is(err, auth.ErrCrossSite) {
		t.Errorf("from another site: %v", err)
	}
	if _, ok := g.Verify(secret); ok {
		t.Error("an open guard knows a token")
	}
}

func TestCodeWorksOnce(t *testing.T) {
	c := &clock{time.Now()}
	codes := auth.NewCodes(func() time.Time { return c.now })
	first, second := codes.Issue("admin", time.Hour), codes.Issue("admin", time.Hour)
	if first == second || len(first) < 20 {
		t.Errorf("codes %q and %q", first, second)
	}
	if name, ok := codes.Redeem(first); !ok || name != "admin" {
		t.Errorf("redeemed: %q, %v", name, ok)
	}
	for _, code := range []string{first, "", "x", second + "x"} {
		if _, ok := codes.Redeem(code); ok {
			t.Errorf("%q opens", code)
		}
	}
	c.now = c.now.Add(time.Hour)
	if _, ok := codes.Redeem(second); ok {
		t.Error("a code outlives its time")
	}
}
