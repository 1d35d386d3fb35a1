package service_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func concerns(t *testing.T, w *webtest.World) []service.ConcernKind {
	t.Helper()
	view, err := w.Overview(t.Context(), engine.DefaultNamespace)
	if err != nil {
		t.Fatal(err)
	}
	kinds := []service.ConcernKind{}
	for i := range view.Concerns {
		kinds = append(kinds, view.Concerns[i].Kind)
	}
	return kinds
}

func TestShardsWithoutAnEngineNeedAttention(t *testing.T) {
	w := webtest.New(t)
	w.Queue.SetExecutors(engine.Presence{ID: "one", Tiers: []spec.Tier{spec.TierLight}, Slots: 1, Seen: w.Now})
	if got := concerns(t, w); len(got) > 0 {
		t.Fatalf("all is well, and yet: %v", got)
	}
	w.Queue.SetEngines(engine.EnginePresence{ID: "a"}, engine.EnginePresence{ID: "b", Shards: 64})
	w.Queue.Orphan(3)
	got, err := w.Engines(t.Context())
	if err != nil || got.Ownerless != 3 || len(got.All) != 2 || got.All[0].Shards != 30 || got.All[1].Shards != 31 {
		t.Errorf("engines %+v: %v", got, err)
	}
	if got := concerns(t, w); len(got) > 0 {
		t.Errorf("a hand-over is reported: %v", got)
	}
	w.Now = w.Now.Add(4 * time.Second)
	w.Queue.SetExecutors(engine.Presence{ID: "one", Tiers: []spec.Tier{spec.TierLight}, Slots: 1, Seen: w.Now})
	if got := concerns(t, w); !slices.Equal(got, []service.ConcernKind{service.ConcernOwnerless}) {
		t.Errorf("shards that stay without an engine are reported as %v", got)
	}
	w.Queue.SetEngines(engine.EnginePresence{ID: "a"})
	if got := concerns(t, w); len(got) > 0 {
		t.Errorf("the engine has them all, and yet: %v", got)
	}
	w.Queue.Orphan(3)
	if got := concerns(t, w); len(got) > 0 {
		t.Errorf("the time of before still counts: %v", got)
	}
	w.Queue.SetEngines()
	if got := concerns(t, w); !slices.Equal(got, []service.ConcernKind{service.ConcernNoEngine}) {
		t.Errorf("that no engine is alive is reported as %v", got)
	}
}

// An engine that shares with no other announces nothing in the queue.
func TestEngineOfThisProcess(t *testing.T) {
	shards := 0
	w := webtest.New(t, service.Config{Alone: func() engine.EnginePresence { return engine.EnginePresence{ID: "alone", Shards: shards} }})
	w.Queue.SetEngines(engine.EnginePresence{ID: "a"})
	for _, want := range []int{0, engine.Shards} {
		shards = want
		got, err := w.Engines(t.Context())
		if err != nil || len(got.All) != 1 || got.All[0].ID != "alone" || got.All[0].Shards != want || got.Ownerless != engine.Shards-want || !got.All[0].Seen.Equal(w.Now) {
			t.Errorf("engines %+v: %v", got, err)
		}
	}
}

func TestClocksThatDifferNeedAttention(t *testing.T) {
	w := webtest.New(t)
	for _, test := range []struct {
		engine, executor time.Duration
		concern          bool
	}{
		{0, 0, false}, {-5 * time.Second, -5 * time.Second, false}, {time.Second, -time.Second, false},
		{0, 5 * time.Second, true}, {-5 * time.Second, 0, true}, {3 * time.Second, -2 * time.Second, true},
	} {
		w.Queue.SetEngines(engine.EnginePresence{ID: "a", Host: "quay", Ahead: test.engine})
		w.Queue.SetExecutors(engine.Presence{ID: "one", Host: "pier", Tiers: []spec.Tier{spec.TierLight}, Slots: 1, Seen: w.Now, Ahead: test.executor})
		if got := slices.Contains(concerns(t, w), service.ConcernClocks); got != test.concern {
			t.Errorf("%v: reported %t", test, got)
		}
		clocks, problem, err := w.Clocks(t.Context())
		if err != nil || clocks.Apart() != (test.engine-test.executor).Abs() || (problem != "") != test.concern {
			t.Errorf("%v: %v, %q, %v", test, clocks.Apart(), problem, err)
		}
		if test.concern && (!strings.Contains(problem, "quay") || !strings.Contains(problem, "pier") || !strings.Contains(problem, "5s")) {
			t.Errorf("it does not say which: %s", problem)
		}
	}
}

func TestExecutorIsDrained(t *testing.T) {
	w := webtest.New(t)
	ending := engine.Presence{ID: "ending", Slots: 1, Draining: true, Seen: w.Now}
	w.Queue.SetExecutors(engine.Presence{ID: "one", Slots: 1, Seen: w.Now}, ending)
	got, err := w.DrainExecutor(t.Context(), "one", "ada", true)
	if err != nil || !got.Draining || got.Drain.By != "ada" || !got.Drain.At.Equal(w.Now) {
		t.Fatalf("%+v: %v", got, err)
	}
	if now, err := w.Executors(t.Context()); err != nil || !now[0].Draining {
		t.Errorf("the executor was not notified: %+v, %v", now, err)
	}
	if got, err = w.DrainExecutor(t.Context(), "one", "", false); err != nil || got.Draining || got.Drain.By != "unknown" {
		t.Errorf("%+v: %v", got, err)
	}
	var known *service.Error
	if _, err := w.DrainExecutor(t.Context(), "two", "ada", true); !errors.As(err, &known) || known.Code != "executor_not_found" {
		t.Errorf("one that is not there: %v", err)
	}
	if _, err := w.DrainExecutor(t.Context(), "ending", "ada", false); !errors.As(err, &known) || known.Code != "executor_shuts_down" {
		t.Errorf("one that shuts down is resumed: %v", err)
	}
}

// With a full disk no node can announce itself, so that no executor and no engine seem to be alive.
func TestAFullDiskIsNamedInPlaceOfWhatItLeadsTo(t *testing.T) {
	var full error
	w := webtest.New(t, service.Config{DiskFull: func() error { return full }})
	w.Queue.SetExecutors()
	w.Queue.SetEngines()
	if got := concerns(t, w); !slices.Contains(got, service.ConcernNoExecutor) {
		t.Errorf("with space and without executors: %v", got)
	}
	full = errors.New("the server's disk is full (0 bytes free in /data)")
	if got := concerns(t, w); !slices.Equal(got, []service.ConcernKind{service.ConcernDisk}) {
		t.Errorf("with a full disk: %v", got)
	}
	view, err := w.Overview(t.Context(), engine.DefaultNamespace)
	if err != nil || len(view.Concerns) == 0 || !strings.Contains(view.Concerns[0].Reason, "/data") {
		t.Errorf("the overview says %+v, %v", view.Concerns, err)
	}
}

func TestASlowStoreNeedsAttention(t *testing.T) {
	w := webtest.New(t)
	for behind, concern := range map[time.Duration]bool{0: false, 20 * time.Second: true} {
		w.Queue.SetEngines(engine.EnginePresence{ID: "a", Host: "quay", Behind: behind, Unwritten: 7})
		if got := slices.Contains(concerns(t, w), service.ConcernBehind); got != concern {
			t.Errorf("%s behind: reported %t", behind, got)
		}
	}
}

func TestRefusedTasksNeedAttentionForADay(t *testing.T) {
	w := webtest.New(t)
	for ago, concern := range map[time.Duration]bool{time.Minute: true, 25 * time.Hour: false} {
		w.Queue.SetExecutors(engine.Presence{
			ID: "one", Host: "pier", Tiers: []spec.Tier{spec.TierLight}, Slots: 1, Seen: w.Now,
			Refused: &engine.Refusals{Count: 2, Last: engine.RefusedAltered, Why: "it is not what was signed", At: w.Now.Add(-ago)},
		})
		if got := slices.Contains(concerns(t, w), service.ConcernRefused); got != concern {
			t.Errorf("%v after a refusal: reported %t", ago, got)
		}
	}
}
