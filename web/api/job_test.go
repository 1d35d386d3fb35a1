package api_test

import (
	"net/http"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
)

func TestJobLives(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")

	created := s.ask("POST", "/api/v1/jobs", report).is(http.StatusCreated)
	job := into[wire.Job](created)
	if job.Name != "nightly-report" || job.Generation != 1 || job.Spec.Timezone != "Asia/Dhaka" || job.Schedule != "at 03:00, every day, Asia/Dhaka" {
		t.Errorf("created %+v", job)
	}
	if got := created.header.Get("Location"); got != "/api/v1/jobs/nightly-report" {
		t.Errorf("Location %q", got)
	}
	if got := created.header.Get("ETag"); got != `"1"` {
		t.Errorf("ETag %q", got)
	}
	s.ask("POST", "/api/v1/jobs", report).is(http.StatusOK)
	s.ask("GET", "/api/v1/jobs/nightly-report", "").is(http.StatusOK)
	s.ask("GET", "/api/v1/jobs/nightly-report", "", "If-None-Match", `"1"`).is(http.StatusNotModified)
	s.ask("POST", "/api/v1/jobs/nightly-report/run", "").is(http.StatusCreated)
}
