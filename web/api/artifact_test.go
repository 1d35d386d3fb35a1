package api_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// left puts a run into the store that has left files and outputs, with the second attempt.
func left(s *site, files map[string]string) engine.Run {
	run := running(s)
	lost := run.Attempts[0]
	lost.Status = engine.StatusLost
	run.Attempts[0].N = 2
	run.Attempts = []engine.Attempt{lost, run.Attempts[0]}
	run.Attempts[1].Status, run.Attempt, run.Status = engine.StatusSucceeded, 2, engine.StatusSucceeded
	run.Outputs = json.RawMessage(`{"rows":5}`)
	for name, content := range files {
		run.Artifacts = append(run.Artifacts, s.Blobs.SetArtifact(run.ID, 2, name, content))
	}
	run.Revision++
	s.PutRun(s.t, run)
	return run
}

func TestArtifactsAreListedAndDownloaded(t *testing.T) {
	s := newSite(t)
	run := left(s, map[string]string{"a/b c.csv": "0123456789"})
	base := "/api/v1/runs/" + run.ID
	shown := into[wire.Run](s.ask(http.MethodGet, base, "").is(http.StatusOK))
	if string(shown.Outputs) != `{"rows":5}` || len(shown.Artifacts) != 1 || shown.Artifacts[0].Name != "a/b c.csv" {
		t.Errorf("the run has left %s and %+v", shown.Outputs, shown.Artifacts)
	}
	listed := into[wire.List[wire.Artifact]](s.ask(http.MethodGet, base+"/artifacts", "").is(http.StatusOK))
	if len(listed.Items) != 1 || listed.Items[0].Size != 10 || len(listed.Items[0].SHA256) != 64 {
		t.Errorf("listed are %+v", listed)
	}
	const path = "/artifacts/a/b%20c.csv"
	whole := s.ask(http.MethodGet, base+path, "").is(http.StatusOK)
	if string(whole.body) != "0123456789" || whole.header.Get("Content-Length") != "10" || whole.header.Get("X-Content-SHA256") != listed.Items[0].SHA256 {
		t.Errorf("got %q with %v", whole.body, whole.header)
	}
	if got := whole.header.Get("Content-Disposition"); got != `attachment; filename="b c.csv"` {
		t.Errorf("Content-Disposition is %s", got)
	}
	if got := s.ask(http.MethodGet, base+"/artifacts/a%2Fb%20c.csv", "").is(http.StatusOK); string(got.body) != "0123456789" {
		t.Errorf("with its slash escaped: %q", got.body)
	}
	for header, want := range map[string]string{"bytes=2-4": "234 bytes 2-4/10", "bytes=-3": "789 bytes 7-9/10", "bytes=8-100": "89 bytes 8-9/10"} {
		got := s.ask(http.MethodGet, base+path, "", "Range", header).is(http.StatusPartialContent)
		if part := string(got.body) + " " + got.header.Get("Content-Range"); part != want {
			t.Errorf("%s gives %s, want %s", header, part, want)
		}
	}
	s.ask(http.MethodGet, base+path, "", "Range", "bytes=10-").problem(http.StatusRequestedRangeNotSatisfiable, "range_not_satisfiable")
}

// Names come from programs: whatever they hold, a file is downloaded by its name, and never as a page.
func TestArtifactsOfOddNames(t *testing.T) {
	s := newSite(t)
	files := map[string]string{}
	for _, name := range []string{"ü.txt", "100%.csv", "a?b#c", "\"quoted\".html", "semi;colon", "..hidden", "a+b&c=d", "*", "%2F"} {
		files[name] = "content of " + name
	}
	run := left(s, files)
	for name, content := range files {
		got := s.ask(http.MethodGet, "/api/v1/runs/"+run.ID+"/artifacts/"+url.PathEscape(name), "")
		if got.status != http.StatusOK || string(got.body) != content {
			t.Errorf("%q gives %d %q", name, got.status, got.body)
			continue
		}
		if header := got.header.Get("Content-Disposition"); !strings.HasPrefix(header, "attachment; filename") || got.header.Get("Content-Type") != "application/octet-stream" || got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%q comes with %v", name, got.header)
		}
	}
}

func TestArtifactsThatAreNotThere(t *testing.T) {
	s := newSite(t)
	run := left(s, nil)
	base := "/api/v1/runs/" + run.ID + "/artifacts"
	if got := s.ask(http.MethodGet, base, "").is(http.StatusOK); strings.TrimSpace(string(got.body)) != `{"items":[],"next":""}` {
		t.Errorf("none are %s", got.body)
	}
	s.ask(http.MethodGet, base+"/x", "").problem(http.StatusNotFound, "artifact_not_found", `"x"`)
	s.ask(http.MethodGet, "/api/v1/runs/nobody-s1/artifacts/x", "").problem(http.StatusNotFound, "run_not_found")
	run.Artifacts, run.Revision = []engine.Artifact{{Name: "x", Size: 3, SHA256: strings.Repeat("0", 64)}}, run.Revision+1
	s.PutRun(t, run)
	s.ask(http.MethodGet, base+"/x", "").problem(http.StatusNotFound, "artifact_gone", "not in S3 any more")
}
