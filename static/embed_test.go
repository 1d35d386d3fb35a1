package static

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func get(t *testing.T, method, path string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	bundled := fstest.MapFS{
		"app.ABC.js":    {Data: []byte("let tide = 1")},
		"app.ABC.css":   {Data: []byte("a{}")},
		"app.ABC.js.br": {Data: []byte("brotli")},
		"app.ABC.js.gz": {Data: []byte("gzip")},
		"logo.ABC.svg":  {Data: []byte("<svg/>")},
		"manifest.json": {Data: []byte("{}")},
		".gitkeep":      {},
		"deep/chunk.js": {Data: []byte("1")},
	}
	request := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for name, values := range header {
		request.Header[name] = values
	}
	response := httptest.NewRecorder()
	serve(bundled).ServeHTTP(response, request)
	return response
}

func TestBundledFilesAreKeptForEver(t *testing.T) {
	for path, kind := range map[string]string{
		"/static/app.ABC.js": "text/javascript; charset=utf-8", "/static/app.ABC.css": "text/css; charset=utf-8",
		"/static/logo.ABC.svg": "image/svg+xml", "/static/deep/chunk.js": "text/javascript; charset=utf-8",
	} {
		response := get(t, http.MethodGet, path, nil)
		if response.Code != http.StatusOK || response.Body.Len() == 0 {
			t.Fatalf("%s: %d with %d bytes", path, response.Code, response.Body.Len())
		}
		if got := response.Header().Get("Content-Type"); got != kind {
			t.Errorf("%s is served as %q, want %q", path, got, kind)
		}
		if got := response.Header().Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
			t.Errorf("%s: Cache-Control %q", path, got)
		}
	}
}

func TestSmallestFormThatIsAcceptedIsSent(t *testing.T) {
	for _, test := range []struct{ path, accept, encoding, body string }{
		{"/static/app.ABC.js", "gzip, deflate, br, zstd", "br", "brotli"},
		{"/static/app.ABC.js", "gzip, br;q=0", "gzip", "gzip"},
		{"/static/app.ABC.js", "br;q=0.0, GZIP;q=0.5", "gzip", "gzip"},
		{"/static/app.ABC.js", "brotli, zstd", "", "let tide = 1"},
		{"/static/app.ABC.js", "", "", "let tide = 1"},
		{"/static/app.ABC.css", "gzip, br", "", "a{}"}, // it has none
	} {
		response := get(t, http.MethodGet, test.path, http.Header{"Accept-Encoding": {test.accept}})
		header := response.Header()
		if header.Get("Content-Encoding") != test.encoding || response.Body.String() != test.body || header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s for %q: %q as %q, Vary %q", test.path, test.accept, response.Body, header.Get("Content-Encoding"), header.Get("Vary"))
		}
		if kind := header.Get("Content-Type"); !strings.HasPrefix(kind, "text/") {
			t.Errorf("%s for %q is a %s", test.path, test.accept, kind)
		}
	}
}

func TestKnownFileIsNotSentAgain(t *testing.T) {
	first := get(t, http.MethodGet, "/static/app.ABC.js", nil)
	again := get(t, http.MethodGet, "/static/app.ABC.js", http.Header{"If-None-Match": {first.Header().Get("ETag")}})
	if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
		t.Errorf("got %d with %d bytes, want 304 without any", again.Code, again.Body.Len())
	}
}

func TestNothingElseIsServed(t *testing.T) {
	for _, path := range []string{"/static/", "/static/deep", "/static/manifest.json", "/static/.gitkeep", "/static/app.XYZ.js", "/static/../go.mod", "/static/app.ABC.js.br", "/static/app.ABC.js.gz"} {
		response := get(t, http.MethodGet, path, nil)
		if response.Code != http.StatusNotFound || response.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d, Cache-Control %q; want 404 that nobody keeps", path, response.Code, response.Header().Get("Cache-Control"))
		}
	}
	if response := get(t, http.MethodPost, "/static/app.ABC.js", nil); response.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d, want 405", response.Code)
	}
}

func TestURLOfBundledFile(t *testing.T) {
	if got := URL("no-such-file.js"); got != "" {
		t.Errorf("URL of a file that is not there is %q, want none", got)
	}
	if !Built() {
		t.Skip("make static has not run")
	}
	for _, name := range []string{"app.js", "app.css", "favicon.svg"} {
		response := httptest.NewRecorder()
		Handler().ServeHTTP(response, httptest.NewRequestWithContext(t.Context(), http.MethodGet, URL(name), nil))
		if response.Code != http.StatusOK {
			t.Errorf("%s at %s: %d", name, URL(name), response.Code)
		}
	}
}
