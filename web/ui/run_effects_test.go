package ui_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func TestRunShowsItsEffects(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "charge")
	job := s.PutJob(t, `{"name": "charge", "binary": "charge"}`)
	run := s.Running(job, s.Now.Add(-time.Hour))
	s.PutRun(t, run)
	if page := s.see(t, "/runs/"+run.ID); strings.Contains(page, "Effects") {
		t.Error("a run without effects has a card for them")
	}
	program := service.Program{Namespace: run.Namespace, Run: run.ID, Attempt: run.Attempt, Token: 7}
	for key, result := range map[string]string{"charge-anna": `{"charged":"<b>100"}`, "api_password": `"hunter2"`, "charge-ben": ""} {
		if _, _, err := s.OpenEffect(t.Context(), program, key); err != nil {
			t.Fatal(err)
		}
		if result == "" {
			continue
		}
		if _, err := s.CloseEffect(t.Context(), program, key, []byte(result)); err != nil {
			t.Fatal(err)
		}
	}
	page := s.see(t, "/runs/"+run.ID)
	for _, want := range []string{"Effects", "charge-anna", "&lt;b&gt;100", "done", "charge-ben", "hidden"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(page, "hunter2") || strings.Contains(page, "left open") {
		t.Error("the page shows what it should not")
	}
	s.PutRun(t, webtest.Ended(run, engine.StatusFailed, "exit 1"))
	if page := s.see(t, "/runs/"+run.ID); strings.Count(page, "left open") != 1 {
		t.Error("the page does not say that an effect was left open")
	}
}
