package ui_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"golang.org/x/net/html"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web"
	"github.com/tidewheel/tidewheel/web/auth"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/ui"
)

// offer is what a page lets its reader do: follow a link, send a form, or have a script ask.
type offer struct{ method, path, on string }

// Whatever a page offers to its reader is not refused because of the reader's role. The walk begins at each page that the server has,
// and follows every link.
func TestPagesOfferNothingThatTheRoleRefuses(t *testing.T) {
	for _, role := range []access.Role{access.Viewer, access.Operator, access.Editor} {
		t.Run(role.String(), func(t *testing.T) {
			s := newSite(t, service.Config{NoBackup: func(context.Context) (string, error) { return "in a test", nil }})
			s.fill(t)
			wave := s.fillDAGs(t)
			if _, _, err := s.SetSecret(t.Context(), engine.DefaultNamespace, "unused", []byte("a value that nobody reads"), "mira"); err != nil {
				t.Fatal(err)
			}
			s.PutNamespace(t, "harbour")
			walk := newWalk(t, s, role)
			for _, path := range walkStarts(s, &wave) {
				walk.add(offer{http.MethodGet, path, ""})
			}
			if pages := walk.all(t); pages < 150 {
				t.Errorf("only %d pages were seen", pages)
			}
		})
	}
}

// walkStarts are the addresses of all pages.
func walkStarts(s *site, wave *engine.Wave) (paths []string) {
	for _, route := range s.router.Routes() {
		if route.Method == http.MethodGet && !strings.HasPrefix(route.Path, "/api/") && !strings.Contains(route.Path, "*") {
			paths = append(paths, addresses(route.Path, s, wave)[0])
		}
	}
	slices.Sort(paths)
	return paths
}

// walk goes through the pages as an identity with a role in the namespace default.
type walk struct {
	handler http.Handler
	token   string
	seen    map[string]bool
	kinds   map[string]int
	open    []offer
	forms   []offer // tried last: they change what the pages show
	pages   int
}

func newWalk(t *testing.T, s *site, role access.Role) *walk {
	t.Helper()
	token, _, err := s.Access.CreateToken(t.Context(), s.Access.Root(), access.NewToken{Name: role.String(), Grants: access.Grants{engine.DefaultNamespace: role}})
	if err != nil {
		t.Fatal(err)
	}
	pages := ui.New(s.Service, ui.Config{Version: "1.2.3"})
	server, err := web.New(web.Config{
		Service: s.Service, Guard: auth.NewGuard(s.Access), Log: s.Log, Version: "1.2.3", Pages: func(e *echo.Echo, api []byte) { pages.Register(e, api) },
		ErrorPage: func(c echo.Context, p web.ErrorPage) error {
			return pages.Failure(c, p.Status, p.Title, p.Detail, p.RequestID)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &walk{handler: server.Handler(), token: token, seen: map[string]bool{}, kinds: map[string]int{}}
}

// alike is how many addresses are tried that differ only in a name, an id or the values of a query.
const alike = 12

// add remembers what is to be tried: each address once, and of those that are alike a few.
func (w *walk) add(o offer) {
	address, err := url.Parse(o.path)
	if err != nil || address.Host != "" || address.Scheme != "" || !strings.HasPrefix(address.Path, "/") || strings.HasSuffix(address.Path, "/events") {
		return
	}
	address.Fragment = ""
	segments := strings.Split(address.Path, "/")
	if len(segments) > 2 {
		segments[2] = ":"
	}
	kind := o.method + " " + strings.Join(segments, "/") + "?" + strings.Join(slices.Sorted(maps.Keys(address.Query())), "&")
	if key := o.method + " " + address.String(); !w.seen[key] && w.kinds[kind] < alike {
		w.seen[key] = true
		w.kinds[kind]++
		o.path = address.String()
		if o.method == http.MethodGet {
			w.open = append(w.open, o)
		} else {
			w.forms = append(w.forms, o)
		}
	}
}

// all tries everything that is found, and returns how many pages there were.
func (w *walk) all(t *testing.T) int {
	for len(w.open)+len(w.forms) > 0 {
		from := &w.open
		if len(w.open) == 0 {
			from = &w.forms
		}
		o := (*from)[0]
		*from = (*from)[1:]
		answer := w.ask(t, o)
		if refused := answer.Code == http.StatusForbidden || answer.Code == http.StatusUnauthorized; refused && o.on != "" && o.path != "/login" {
			t.Errorf("%s offers %s %s, which is refused: %d", o.on, o.method, o.path, answer.Code)
		}
		if answer.Code == http.StatusOK && strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html") {
			w.pages++
			w.read(t, o.path, answer.Body.String())
		}
	}
	return w.pages
}

func (w *walk) ask(t *testing.T, o offer) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), o.method, "http://localhost"+o.path, http.NoBody)
	request.Header.Set("Accept", "text/html")
	request.Header.Set("Authorization", "Bearer "+w.token)
	answer := httptest.NewRecorder()
	w.handler.ServeHTTP(answer, request)
	return answer
}

// read finds what a page offers.
func (w *walk) read(t *testing.T, path, text string) {
	t.Helper()
	document, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	base, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	for node := range document.Descendants() {
		attributes := map[string]string{}
		for _, attribute := range node.Attr {
			attributes[attribute.Key] = attribute.Val
		}
		found := func(method, to string) {
			if address, err := base.Parse(to); err == nil {
				w.add(offer{strings.ToUpper(method), address.String(), path})
			}
		}
		if node.Type == html.ElementNode && node.Data == "form" && attributes["method"] != "dialog" {
			method := attributes["method"]
			if method == "" {
				method = http.MethodGet
			}
			found(method, attributes["action"])
		}
		for name, method := range map[string]string{"href": http.MethodGet, "hx-get": http.MethodGet, "hx-post": http.MethodPost, "formaction": http.MethodPost} {
			if to := attributes[name]; to != "" && !strings.HasPrefix(to, "#") {
				found(method, to)
			}
		}
	}
}
