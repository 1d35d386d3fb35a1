package ui_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/web/service"
)

func (s *site) push(t *testing.T, name, content string, aliases ...string) {
	t.Helper()
	if _, _, _, err := s.Service.UploadBinary(t.Context(), "default", name, strings.NewReader(content), service.Upload{By: "mira", Aliases: aliases}); err != nil {
		t.Fatal(err)
	}
}

// mustHold fails for each piece that a page lacks.
func mustHold(t *testing.T, body string, pieces ...string) {
	t.Helper()
	for _, piece := range pieces {
		if !strings.Contains(body, piece) {
			t.Errorf("the page lacks %q", piece)
		}
	}
	if t.Failed() {
		t.Log(body)
	}
}

func TestVersionOfAScriptShowsItsSource(t *testing.T) {
	s := newSite(t)
	s.push(t, "report", "#!/bin/sh\necho '<b>one</b>'\r\n\x1b[31m\n", "stable")
	s.PutJob(t, `{"name": "nightly", "binary": "report@stable"}`)
	mustHold(t, s.see(t, "/binaries/report/versions/1"),
		`<code>#!/bin/sh</code>`, `<code>echo &#39;&lt;b&gt;one&lt;/b&gt;&#39;</code>`, `3 lines`, `<a href="/jobs/nightly">nightly</a>`,
		`href="/jobs/new?binary=report@stable"`, `href="/binaries/report/versions/1/source"`)
	raw := s.ask(t, http.MethodGet, "/binaries/report/versions/1/source", nil)
	if raw.Code != http.StatusOK || raw.Body.String() != "#!/bin/sh\necho '<b>one</b>'\r\n\x1b[31m\n" || !strings.HasPrefix(raw.Header().Get("Content-Type"), "text/plain") ||
		raw.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("raw: %d %v %q", raw.Code, raw.Header(), raw.Body)
	}
	if missing := s.ask(t, http.MethodGet, "/binaries/report/versions/2", nil); missing.Code != http.StatusNotFound || !strings.Contains(missing.Body.String(), "the latest is 1") {
		t.Errorf("a version that is not there: %d %s", missing.Code, missing.Body)
	}
}

func TestSourceIsShownToItsBoundOnly(t *testing.T) {
	s := newSite(t)
	s.push(t, "long", "#!/bin/sh\n"+strings.Repeat("echo\n", service.SourceLines+9))
	s.push(t, "long", "#!/bin/sh\n"+strings.Repeat("é", service.SourceBytes)) // cut within a character
	s.push(t, "long", "#!/bin/sh\n\x00data")
	mustHold(t, s.see(t, "/binaries/long/versions/1"), "Only the first 5000 lines are shown, 10 more follow.")
	mustHold(t, s.see(t, "/binaries/long/versions/2"), "Only the first 2 lines are shown.", "ééé")
	mustHold(t, s.see(t, "/binaries/long/versions/3"), "is not text, so there is no source to show")
}

func TestVersionsAreComparedLineByLine(t *testing.T) {
	s := newSite(t)
	s.push(t, "report", "#!/bin/sh\necho one\necho same\n", "stable")
	s.push(t, "report", "#!/bin/sh\necho two\necho same\n")
	s.PutJob(t, `{"name": "nightly", "binary": "report@stable"}`)
	mustHold(t, s.see(t, "/binaries/report/diff?a=1&b=2"),
		"1 line only left, 1 line only right", "<code>echo one</code>", "<code>echo two</code>", `href="/binaries/report/versions/2#L2"`, "<td>nightly</td>", "<td>stable</td>")
	mustHold(t, s.see(t, "/binaries/report/diff?a=2&b=2"), "Both versions hold the same bytes.", "Nothing: both are the same version.")
	for address, status := range map[string]int{"/binaries/report/diff?a=1&b=7": http.StatusNotFound, "/binaries/report/diff?a=1": http.StatusUnprocessableEntity, "/binaries/no/diff?a=1&b=2": http.StatusNotFound} {
		if got := s.ask(t, http.MethodGet, address, nil); got.Code != status {
			t.Errorf("%s: %d", address, got.Code)
		}
	}
}

func TestManyVersionsComeInPages(t *testing.T) {
	s := newSite(t)
	for n := range 120 {
		s.push(t, "report", fmt.Sprintf("#!/bin/sh\necho %d\n", n), "stable")
	}
	body := s.see(t, "/binaries/report")
	mustHold(t, body, `<a href="/binaries/report/versions/120">120</a>`, `<a href="/binaries/report/versions/71">71</a>`, "cursor=71", `type="number"`)
	if strings.Contains(body, `href="/binaries/report/versions/70"`) {
		t.Error("the first page holds more than 50 versions")
	}
	body = s.see(t, "/binaries/report?cursor=21")
	mustHold(t, body, `<a href="/binaries/report/versions/20">20</a>`, `<a href="/binaries/report/versions/1">1</a>`, "First page")
	if strings.Contains(body, "Next page") {
		t.Error("there is a page after the last version")
	}
}

func TestNewJobStartsWithTheReferenceThatLedToIt(t *testing.T) {
	s := newSite(t)
	s.push(t, "report", "#!/bin/sh\n", "stable")
	mustHold(t, s.see(t, "/jobs/new?binary=report@stable"), "name: report-job\nbinary: report@stable\n")
	mustHold(t, s.see(t, "/jobs/new?binary=../bad"), "name: report-job\nbinary: report\n")
}
