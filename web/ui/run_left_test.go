package ui_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// What a run has left is shown, whatever a program may call it, and its files lead to where they are downloaded.
func TestRunShowsWhatItHasHandedOn(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "talk")
	job := s.PutJob(t, `{"name": "talk", "binary": "talk"}`)
	run := s.Running(job, s.Now.Add(-time.Hour))
	s.PutRun(t, run)
	if page := s.see(t, "/runs/"+run.ID); strings.Contains(page, "Outputs and artifacts") {
		t.Error("a run that has left nothing has a card for it")
	}
	ended := webtest.Ended(run, engine.StatusSucceeded, "")
	ended.Outputs = json.RawMessage(`{"rows":5,"title":"a <b>","db_password":"hunter2","shops":["x","y"]}`)
	ended.Artifacts = []engine.Artifact{{Name: "a/<i> 100%.csv", Size: 3 << 20, SHA256: strings.Repeat("ab", 32)}}
	for i := range 120 {
		ended.Artifacts = append(ended.Artifacts, engine.Artifact{Name: fmt.Sprintf("more-%d", i)})
	}
	s.PutRun(t, ended)
	page := s.see(t, "/runs/"+run.ID)
	for _, want := range []string{
		"Outputs and artifacts", "rows", "a &lt;b&gt;", "a/&lt;i&gt; 100%.csv", "/api/v1/runs/" + run.ID + "/artifacts/a/%3Ci%3E%20100%25.csv", "more-98", "21 more files are", "hidden",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, never := range []string{"hunter2", "more-99", "<i> 100"} {
		if strings.Contains(page, never) {
			t.Errorf("the page says %q", never)
		}
	}
}
