package chaos

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// A job is deleted, and the answer is lost: what the deletion did to its runs is the user's wish, whether or not it is known to be done.
func TestDeletionWithoutAnAnswerIsRemembered(t *testing.T) {
	gone, answers := false, false
	api := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		answer.Header().Set("Content-Type", "application/json")
		switch {
		case gone:
			answer.WriteHeader(http.StatusNotFound)
			_, _ = answer.Write([]byte(`{"code": "job_not_found"}`))
		case request.Method == http.MethodDelete:
			gone = answers
			answer.WriteHeader(http.StatusServiceUnavailable) // done, and reported failed
		default:
			_, _ = answer.Write([]byte(`{"name": "brief", "uid": "u"}`))
		}
	}))
	defer api.Close()
	asked, err := client.New(client.Config{URL: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	w := &workload{}
	w.defineUsers(Config{Period: 10}, "journal")
	allowed := func() bool {
		v := &verdict{t: &complaints{}, work: w, jobs: map[string]job{"u": {name: jobBrief, overlap: "allow"}}}
		return v.allowedEnd(wire.Run{JobUID: "u", Job: jobBrief, Status: engine.StatusCancelled})
	}
	if allowed() {
		t.Error("a run without a cancellation may be cancelled")
	}
	if err := w.deleteBrief(t.Context(), asked); err == nil {
		t.Fatal("a deletion that failed is acknowledged")
	}
	if !allowed() || !w.deleted["u"].IsZero() {
		t.Errorf("asked for and not acknowledged: its runs may be cancelled: %v, deleted at %v", allowed(), w.deleted["u"])
	}
	answers = true
	_ = w.deleteBrief(t.Context(), asked) // done, and its answer lost
	if err := w.deleteBrief(t.Context(), asked); err != nil {
		t.Fatal(err)
	}
	found := w.deleted["u"]
	if found.IsZero() || !allowed() {
		t.Errorf("found gone: its runs may be cancelled: %v, deleted at %v", allowed(), found)
	}
	if err := w.deleteBrief(t.Context(), asked); err != nil || !w.deleted["u"].Equal(found) || time.Since(found) < 0 {
		t.Errorf("deleted again: at %v instead of %v, %v", w.deleted["u"], found, err)
	}
}
