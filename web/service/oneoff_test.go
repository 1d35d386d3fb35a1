package service_test

import (
	"testing"

	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// Only what the one-call form has made goes by itself.
func TestJobsOfTheOneCallFormAreMarked(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	job, _, _, err := w.CreateOneOff(t.Context(), "default", service.OneOff{By: "mira", Binary: "report"})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := w.Jobs.Get(t.Context(), "default", job.Name)
	if err != nil || !stored.OneOff {
		t.Errorf("it is stored as %+v, %v", stored, err)
	}
	if users := w.PutJob(t, `{"name":"a","binary":"report","at":"2026-11-20T13:00:00Z"}`); users.OneOff {
		t.Error("a job that its user defined is marked, too")
	}
}
