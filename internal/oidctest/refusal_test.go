package oidctest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/audit"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web"
	"github.com/tidewheel/tidewheel/web/auth"
	"github.com/tidewheel/tidewheel/web/issuer"
	"github.com/tidewheel/tidewheel/web/ui"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// site is the product's pages in this process, with a clock for what comes from the provider.
type site struct {
	*webtest.World
	url   string
	ahead atomic.Int64 // of the true time, in nanoseconds
}

func newSite(t *testing.T, config issuer.Config) *site {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{World: webtest.New(t), url: "http://" + listener.Addr().String()}
	s.serve(t, listener, config)
	return s
}

func (s *site) serve(t *testing.T, listener net.Listener, config issuer.Config) {
	t.Helper()
	config.ClientID, config.GroupsClaim = clientID, "groups"
	config.Now = func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }
	for _, text := range []string{"tw-admins=admin", "shop=editor@default"} {
		role, err := issuer.ParseGroupRole(text)
		if err != nil {
			t.Fatal(err)
		}
		config.Roles = append(config.Roles, role)
	}
	pages := ui.New(s.Service, ui.Config{Version: "test"})
	server, err := web.New(web.Config{
		Service: s.Service, Guard: auth.NewGuard(s.Access), Issuer: issuer.New(config), Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Pages: func(e *echo.Echo, api []byte) { pages.Register(e, api) },
		LoginPage: func(c echo.Context, p web.LoginPage) error {
			login := templates.Login{Problem: p.Message, Next: p.Next, Users: p.Users}
			if p.Issuer != nil {
				login.Issuer = &templates.LoginIssuer{Name: p.Issuer.Name, Path: p.Issuer.Path, Away: p.Issuer.Away}
			}
			return pages.Login(c, p.Status, login)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// withProvider makes a site and its provider, with one user.
func withProvider(t *testing.T, inside bool) (*site, *provider) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{World: webtest.New(t), url: "http://" + listener.Addr().String()}
	id := newProvider(t, inside, s.url+issuer.CallbackPath)
	id.user("1", "Olga", []string{"shop"})
	s.serve(t, listener, issuer.Config{Issuer: id.issuer, ClientSecret: clientSecret})
	return s, id
}

// refusals lists what the audit log says about failed logins, the newest first.
func (s *site) refusals(t *testing.T) string {
	t.Helper()
	entries, _, err := s.Audit.List(t.Context(), audit.Filter{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, entry := range entries {
		if entry.Outcome != "done" {
			all = append(all, entry.Changes[0].What)
		}
	}
	return strings.Join(all, "\n")
}

func TestTokenInsideAndOutside(t *testing.T) {
	for _, inside := range []bool{true, false} {
		s, id := withProvider(t, inside)
		b := newBrowser(t)
		b.signIn(id, s.url+"/jobs?status=failed", "Olga").says(t, 200, "olga")
		user, err := s.Access.User(t.Context(), "olga")
		if err != nil || user.From != id.issuer || user.Grants["default"] != access.Editor || len(user.Grants) != 1 {
			t.Errorf("inside %t: %+v, %v", inside, user, err)
		}
		if got := s.refusals(t); got != "" {
			t.Errorf("refused: %s", got)
		}
	}
}

func TestGroupsAreReadAsTheProviderHasThem(t *testing.T) {
	s, id := withProvider(t, false)
	id.user("1", "Olga", "shop") // one name, no list
	newBrowser(t).signIn(id, s.url+"/jobs", "Olga").says(t, 200, "olga")
	id.user("1", "Olga", nil)
	newBrowser(t).signIn(id, s.url+"/jobs", "Olga").says(t, 403, `It sent no groups, which are looked for in the claim "groups".`)
	id.user("1", "Olga", map[string]int{"shop": 1})
	newBrowser(t).signIn(id, s.url+"/jobs", "Olga").says(t, 502, "the claim of groups is no list of names")
	id.user("1", "Olga", []string{"shop"})
	id.liesAbout = "2"
	newBrowser(t).signIn(id, s.url+"/jobs", "Olga").says(t, 502, `the user info is about "2"`)
	id.liesAbout = ""
	id.user("2", "not a name", []string{"shop"})
	newBrowser(t).signIn(id, s.url+"/jobs", "not a name").says(t, 403, "cannot be the name of a user here")
}

func TestLoginLeadsToOwnPathsOnly(t *testing.T) {
	s, id := withProvider(t, true)
	for _, next := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, "/login/oidc"} {
		b := newBrowser(t)
		at := b.enter(id, b.open(s.url+"/login/oidc?next="+url.QueryEscape(next)), "Olga")
		if at.status != 200 || at.url.Host != strings.TrimPrefix(s.url, "http://") || at.url.Path != "/" {
			t.Errorf("%s leads to %s: %d", next, at.url, at.status)
		}
	}
}

func TestAnswerIsGoodOnceAndInItsBrowserOnly(t *testing.T) {
	s, id := withProvider(t, true)
	b := newBrowser(t)
	form := b.toProvider(id, s.url+"/jobs")
	var callback string
	b.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == issuer.CallbackPath {
			callback = r.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}
	b.enter(id, form, "Olga")
	b.client.CheckRedirect = nil
	const again = "This sign-in was used before"
	newBrowser(t).open(callback).says(t, 400, again)
	cookies := b.client.Jar.Cookies(mustParse(t, callback))
	b.open(callback).says(t, 200, "olga")
	b.open(callback).says(t, 400, again)
	thief := newBrowser(t) // who has copied all cookies
	thief.client.Jar.SetCookies(mustParse(t, callback), cookies)
	thief.open(callback).says(t, 400, "no longer accepts this sign-in")

	stale := newBrowser(t)
	form = stale.toProvider(id, s.url+"/jobs")
	s.ahead.Store(int64(issuer.AttemptLife + time.Second))
	stale.enter(id, form, "Olga").says(t, 400, "took longer than 10 minutes")
	s.ahead.Store(0)
	newBrowser(t).open(s.url+issuer.CallbackPath).says(t, 400, again)
}

func mustParse(t *testing.T, address string) *url.URL {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestErrorsOfTheProviderAreShown(t *testing.T) {
	s, id := withProvider(t, true)
	b := newBrowser(t)
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	begin := func() string {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/login/oidc?next=/jobs", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := b.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		return mustParse(t, answer.Header.Get("Location")).Query().Get("state")
	}
	back := func(state string, more url.Values) *page {
		more.Set("state", state)
		return b.open(s.url + issuer.CallbackPath + "?" + more.Encode())
	}
	back(begin(), url.Values{"error": {"access_denied"}}).says(t, 403, "access_denied, the sign-in was refused or cancelled", `href="/login/oidc?next=%2Fjobs"`)
	back(begin(), url.Values{"error": {"server_error"}, "error_description": {"<b>down</b>"}}).says(t, 403, "server_error, <b>down</b>")
	begin()
	if at := back("forged", url.Values{"error": {"access_denied"}, "error_description": {"call 555-1234"}}); at.status != 400 || strings.Contains(at.content, "555") {
		t.Errorf("a link of another site puts its text on the page: %d %s", at.status, at.content)
	}
	back(begin(), url.Values{"code": {"invented"}}).says(t, 400, "no longer accepts this sign-in")
	back(begin(), url.Values{}).says(t, 400)
	if got := strings.Count(s.refusals(t), "login at "+strings.TrimPrefix(id.issuer, "http://")); got != 5 {
		t.Errorf("%d refusals in the audit log:\n%s", got, s.refusals(t))
	}
}

func TestTokenThatIsNotForThisLoginOpensNothing(t *testing.T) {
	s, id := withProvider(t, true)
	signIn := func() *page { return newBrowser(t).signIn(id, s.url+"/jobs", "Olga") }

	var kept string
	id.setTamper(func(token string) string { kept = token; return token })
	signIn().says(t, 200, "olga")
	id.setTamper(func(string) string { return kept })
	signIn().says(t, 401, "belongs to another sign-in")

	id.setTamper(func(token string) string { // Olga gives herself a group
		parts := strings.Split(token, ".")
		parts[1] = changed(t, parts[1], func(claims map[string]any) { claims["groups"] = []string{"tw-admins"} })
		return strings.Join(parts, ".")
	})
	signIn().says(t, 401, "cannot be trusted")
	id.setTamper(func(token string) string { // and says that it needs no signature
		parts := strings.Split(token, ".")
		parts[0] = changed(t, parts[0], func(header map[string]any) { header["alg"] = "none" })
		return parts[0] + "." + parts[1] + "."
	})
	signIn().says(t, 401, "cannot be trusted")
	id.setTamper(func(string) string { return "nonsense" })
	signIn().says(t, 401, "cannot be trusted")
	id.setTamper(func(string) string { return "" })
	signIn().says(t, 502, "sent no ID token")

	other := newOther(t, s, id)
	id.setTamper(func(string) string { return other })
	signIn().says(t, 401, "is for another application")
	id.setTamper(nil)

	for ahead, status := range map[time.Duration]int{
		-30 * time.Second:         200, // a token of the future: the provider's clock is ahead
		time.Hour + time.Second:   200, // its end, within the skew
		time.Hour + 2*time.Minute: 401,
	} {
		b := newBrowser(t)
		s.ahead.Store(0)
		id.setTamper(func(token string) string { s.ahead.Store(int64(ahead)); return token })
		at := b.signIn(id, s.url+"/jobs", "Olga")
		if at.says(t, status); status == 401 {
			at.says(t, status, "compares the clocks of both machines")
		}
	}
}

// newOther signs Olga in at another application of the provider, and returns the ID token that this one gets.
func newOther(t *testing.T, s *site, id *provider) (token string) {
	t.Helper()
	provider := issuer.New(issuer.Config{
		Issuer: id.issuer, ClientID: "other", ClientSecret: clientSecret, GroupsClaim: "groups", RedirectURL: s.url + issuer.CallbackPath,
	})
	attempt, target, err := provider.Begin(t.Context(), "", "/")
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t)
	form := b.open(target)
	var answer url.Values
	b.client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == issuer.CallbackPath {
			answer = r.URL.Query()
			return http.ErrUseLastResponse
		}
		return nil
	}
	b.enter(id, form, "Olga")
	id.setTamper(func(given string) string { token = given; return given })
	if account, err := provider.Finish(t.Context(), "", attempt, answer); err != nil || account.Name != "Olga" {
		t.Fatalf("at the other application: %+v, %v", account, err)
	}
	return token
}

// changed changes a part of a JWT.
func changed(t *testing.T, part string, change func(map[string]any)) string {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	change(object)
	text, err = json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func TestWrongSecretIsTheAdministratorsToMend(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{World: webtest.New(t), url: "http://" + listener.Addr().String()}
	id := newProvider(t, true, s.url+issuer.CallbackPath)
	id.user("1", "Olga", []string{"shop"})
	s.serve(t, listener, issuer.Config{Issuer: id.issuer, ClientSecret: "wrong"})
	newBrowser(t).signIn(id, s.url+"/jobs", "Olga").says(t, 503, "--oidc-client-secret-file")
}

// A provider that is unavailable stops nothing else, and is asked again at the next login.
func TestUnavailableProviderIsRetried(t *testing.T) {
	var (
		away    atomic.Bool
		handler atomic.Value
	)
	away.Store(true)
	front := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			http.Error(w, "out for lunch", http.StatusBadGateway)
			return
		}
		handler.Load().(http.Handler).ServeHTTP(w, r)
	})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- front.Serve(listener) }()
	t.Cleanup(func() { _ = front.Close(); <-served })
	address := "http://" + listener.Addr().String()

	s := newSite(t, issuer.Config{Issuer: address, ClientSecret: clientSecret})
	if _, err := s.Access.CreateUser(t.Context(), access.NewUser{Name: "ada", Password: password, Grants: access.Grants{access.Everywhere: access.Admin}}); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t)
	b.open(s.url+"/login/oidc").says(t, 503, "cannot be asked to sign you in", "did not answer when it was last asked")
	b.open(s.url+"/login").says(t, 200, "did not answer when it was last asked", "Sign in with 127.0.0.1")
	b.send(http.MethodPost, s.url+"/login", url.Values{"name": {"ada"}, "password": {password}}).says(t, 200, "ada")
	if got := s.refusals(t); !strings.Contains(got, "login at 127.0.0.1") {
		t.Errorf("in the audit log: %s", got)
	}

	id := newProviderAt(address, s.url+issuer.CallbackPath)
	handler.Store(id.handler)
	away.Store(false)
	id.user("1", "Olga", []string{"shop"})
	again := newBrowser(t)
	again.signIn(id, s.url+"/jobs", "Olga").says(t, 200, "olga")
	if at := newBrowser(t).open(s.url + "/login"); strings.Contains(at.content, "did not answer") {
		t.Error("the button still says that the provider is away")
	}
}
