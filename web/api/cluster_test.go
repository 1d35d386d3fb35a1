package api_test

import (
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func TestClusterIsShown(t *testing.T) {
	s := newSite(t)
	if got := strings.TrimSpace(string(s.ask("GET", "/api/v1/executors", "").is(http.StatusOK).body)); got != `{"items":[],"next":""}` {
		t.Errorf("no executors are %s", got)
	}
	s.Queue.SetExecutors(engine.Presence{ID: "one", Host: "host", Slots: 4, Seen: webtest.Start,
		Running: []engine.RunningAttempt{{Run: "r", Attempt: 1, Job: "j", Since: webtest.Start}}})
	s.Queue.SetDepths(engine.QueueDepth{Tier: "light", Class: "premium", Waiting: 3, Claimed: 1, Pulls: 2})
	executors := into[wire.List[wire.Executor]](s.ask("GET", "/api/v1/executors", "").is(http.StatusOK))
	if len(executors.Items) != 1 || executors.Items[0].Running[0].Job != "j" || executors.Items[0].Slots != 4 {
		t.Errorf("executors %+v", executors)
	}
	queues := into[wire.List[wire.Queue]](s.ask("GET", "/api/v1/queues", "").is(http.StatusOK))
	if len(queues.Items) != 1 || !reflect.DeepEqual(queues.Items[0], wire.Queue{
		Tier: "light", Class: "premium", Waiting: 3, Claimed: 1, Pulls: 2, Unserved: "no executor serves the tier light",
	}) {
		t.Errorf("queues %+v", queues)
	}
	if got := into[wire.Version](s.ask("GET", "/api/v1/version", "")); got.Version != "v0-test" {
		t.Errorf("version %+v", got)
	}
}

// The client does not see the details of a fault inside the server, unless a part is down: then the answer says so.
func TestFaultsOfOurs(t *testing.T) {
	s := newSite(t)
	secret := errors.New("dial tcp 10.0.0.7:27017: refused")
	s.Store.Fail(secret)
	s.ask("GET", "/api/v1/jobs/a", "").problem(http.StatusServiceUnavailable, "unavailable", "the store does not answer")
	s.Store.Fail(nil)
	s.Queue.Fail(secret)
	s.ask("GET", "/api/v1/executors", "").problem(http.StatusServiceUnavailable, "unavailable", "the queue does not answer")
	s.Queue.Fail(nil)
	s.Blobs.Lose = true
	s.PutBinary(t, "report")
	got := s.ask("GET", "/api/v1/binaries/report/versions/1/content", "")
	got.problem(http.StatusInternalServerError, "internal_error", "its log says more")
	if strings.Contains(string(got.body), "lost") {
		t.Errorf("the answer reveals the fault: %s", got.body)
	}
}
