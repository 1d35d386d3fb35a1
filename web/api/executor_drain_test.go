package api_test

import (
	"net/http"
	"testing"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func TestDrainAndResume(t *testing.T) {
	s := newSite(t)
	s.Queue.SetExecutors(engine.Presence{ID: "one", Slots: 4, Seen: webtest.Start})
	for _, path := range []string{"drain", "drain", "resume"} {
		want := path == "drain"
		got := into[wire.Executor](s.ask("POST", "/api/v1/executors/one/"+path, "").is(http.StatusOK))
		list := into[wire.List[wire.Executor]](s.ask("GET", "/api/v1/executors", "").is(http.StatusOK))
		if got.Draining != want || (got.DrainedBy != "") != want || list.Items[0].Draining != want || list.Items[0].DrainedAt.IsZero() == want {
			t.Errorf("%s answers %+v, and the list has %+v", path, got, list.Items[0])
		}
	}
	s.ask("POST", "/api/v1/executors/two/drain", "").problem(http.StatusNotFound, "executor_not_found", "two")
}

func TestEnginesAreListed(t *testing.T) {
	s := newSite(t)
	s.Queue.SetEngines(engine.EnginePresence{ID: "a", Host: "quay", Version: "v1"}, engine.EnginePresence{ID: "b", Leaving: true})
	got := into[wire.List[wire.Engine]](s.ask("GET", "/api/v1/engines", "").is(http.StatusOK))
	if len(got.Items) != 2 || got.Items[0].Shards != 32 || got.Items[0].Version != "v1" || !got.Items[1].Leaving {
		t.Errorf("engines %+v", got)
	}
	if clocks := into[wire.Clocks](s.ask("GET", "/api/v1/clocks", "").is(http.StatusOK)); *clocks != (wire.Clocks{}) {
		t.Errorf("clocks %+v", clocks)
	}
}
