package ui_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/static"
	"github.com/tidewheel/tidewheel/web/service"
)

// policies are the headers of every answer.
var policies = map[string]string{
	"Content-Security-Policy":      "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
	"X-Content-Type-Options":       "nosniff",
	"X-Frame-Options":              "DENY",
	"Referrer-Policy":              "same-origin",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
}

// Every answer to a GET that the server registers, of pages and of the API, found and not found, keeps browsers from
// sniffing, framing and keeping it, and every page is without what the policy would have to allow.
func TestEveryAnswerIsSafeInABrowser(t *testing.T) {
	s := newSite(t, service.Config{NoBackup: func(context.Context) (string, error) { return "in a test", nil }})
	s.fill(t)
	wave := s.fillDAGs(t)
	pages := 0
	for _, route := range s.router.Routes() {
		if route.Method != http.MethodGet || strings.HasSuffix(route.Path, "/events") { // it has no end
			continue
		}
		for _, path := range addresses(route.Path, s, &wave) {
			answer := s.ask(t, http.MethodGet, path, nil)
			checkHeaders(t, path, answer)
			if strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html") {
				checkMarkup(t, path, answer.Body.String())
				if answer.Code == http.StatusOK {
					pages++
				}
			}
		}
	}
	if pages < 35 {
		t.Errorf("only %d pages were seen", pages)
	}
	for _, path := range []string{"/nothing", "/api/v1/nothing", "/jobs/nothing", "/login"} {
		answer := s.ask(t, http.MethodGet, path, nil)
		checkHeaders(t, path, answer)
		checkMarkup(t, path, answer.Body.String())
	}
}

// addresses fills in what a route leaves open: with what there is, and with what there is not.
func addresses(route string, s *site, wave *engine.Wave) (paths []string) {
	name := map[string]string{
		"jobs": "tide-forecast", "dags": "etl", "binaries": "tide-forecast", "runs": s.first.ID, "waves": wave.ID, "executors": "one",
		"dead-letters": s.broken.ID, "secrets": "none", "effects": s.first.ID, "static": "app.css",
	}
	segments := strings.Split(route, "/")
	for _, found := range []bool{true, false} {
		filled := make([]string, len(segments))
		for i, segment := range segments {
			switch {
			case !strings.HasPrefix(segment, ":") && segment != "*":
				filled[i] = segment
			case segment == ":n" || segment == ":version" || segment == ":generation":
				filled[i] = "1"
			case found && name[segments[i-1]] != "":
				filled[i] = name[segments[i-1]]
			default:
				filled[i] = "nothing"
			}
		}
		path := strings.Join(filled, "/")
		if len(paths) == 0 || paths[0] != path {
			paths = append(paths, path)
		}
	}
	return paths
}

func checkHeaders(t *testing.T, path string, answer *httptest.ResponseRecorder) {
	t.Helper()
	for name, want := range policies {
		if got := answer.Header().Get(name); got != want {
			t.Errorf("GET %s: %d, %s is %q", path, answer.Code, name, got)
		}
	}
	if kept := answer.Header().Get("Cache-Control"); !strings.HasPrefix(path, static.Prefix) && kept != "no-store" {
		t.Errorf("GET %s: %d, Cache-Control is %q", path, answer.Code, kept)
	}
	if answer.Header().Get("Content-Type") == "" && answer.Body.Len() > 0 {
		t.Errorf("GET %s: %d, without a type", path, answer.Code)
	}
	for _, cookie := range answer.Result().Cookies() {
		t.Errorf("GET %s sets the cookie %s", path, cookie.Name)
	}
}

// checkMarkup looks for what runs or loads by being in the page itself.
func checkMarkup(t *testing.T, path, text string) {
	t.Helper()
	document, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Errorf("GET %s: %v", path, err)
		return
	}
	for node := range document.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		attributes := map[string]string{}
		for _, attribute := range node.Attr {
			attributes[attribute.Key] = attribute.Val
			switch {
			case attribute.Key == "style", strings.HasPrefix(attribute.Key, "on"), strings.HasPrefix(attribute.Key, "hx-on"):
				t.Errorf("GET %s: <%s %s=%q> is inline", path, node.Data, attribute.Key, attribute.Val)
			case attribute.Key == "src", attribute.Key == "href", attribute.Key == "action", attribute.Key == "formaction":
				checkAddress(t, path, node.Data, attribute.Val)
			}
		}
		switch node.Data {
		case "script":
			if attributes["src"] == "" && attributes["type"] != "application/json" {
				t.Errorf("GET %s: a script is inline", path)
			}
		case "style", "iframe", "object", "embed", "base":
			t.Errorf("GET %s: there is a <%s>", path, node.Data)
		case "a":
			if attributes["target"] == "_blank" && !strings.Contains(attributes["rel"], "noopener") {
				t.Errorf("GET %s: a link to %s opens a window that can reach back", path, attributes["href"])
			}
		}
	}
}

// checkAddress wants what a page loads to be its server's own; links may lead elsewhere, and run nothing.
func checkAddress(t *testing.T, path, element, address string) {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Errorf("GET %s: <%s> has the address %q", path, element, address)
		return
	}
	switch parsed.Scheme {
	case "", "mailto":
		if parsed.Host != "" {
			t.Errorf("GET %s: <%s> leads to another host without saying how: %q", path, element, address)
		}
	case "https", "http":
		if element != "a" {
			t.Errorf("GET %s: <%s> loads %q", path, element, address)
		}
	case "data":
		if element != "img" && element != "link" {
			t.Errorf("GET %s: <%s> has %q", path, element, address)
		}
	default:
		t.Errorf("GET %s: <%s> has the address %q", path, element, address)
	}
}

// What the pages keep in a browser is out of reach of scripts and of other sites, and of networks where TLS is spoken: here
// or by a proxy before this server.
func TestCookiesArePrivate(t *testing.T) {
	s := newSite(t)
	for path, form := range map[string]url.Values{"/theme": {"theme": {"dark"}}, "/namespace": {"namespace": {"default"}}} {
		for proxy, secure := range map[string]bool{"http": false, "https": true} {
			cookies := s.ask(t, http.MethodPost, path, form, "X-Forwarded-Proto", proxy).Result().Cookies()
			if len(cookies) != 1 {
				t.Fatalf("POST %s sets %v", path, cookies)
			}
			if c := cookies[0]; !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure != secure || c.Path != "/" || c.Domain != "" {
				t.Errorf("POST %s behind %s sets %v", path, proxy, c)
			}
		}
	}
}
