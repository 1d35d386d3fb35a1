package service_test

import (
	"errors"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// What waits counts wherever it does: in the queue, and with the engines that hold it back.
func TestManualRunsAreRefusedWhileTheBacklogIsFull(t *testing.T) {
	w := webtest.New(t, service.Config{MaxBacklog: 100})
	held := func(n int) {
		w.Queue.SetEngines(engine.EnginePresence{ID: "a", Held: []engine.HeldRuns{{Tier: spec.TierLight, Class: spec.ClassStandard, Runs: n}}})
	}
	w.Queue.SetDepths(engine.QueueDepth{Tier: spec.TierLight, Class: spec.ClassStandard, Waiting: 10}, engine.QueueDepth{Tier: spec.TierHeavy, Class: spec.ClassStandard})
	w.PutBinary(t, "tool", "stable")
	w.PutJob(t, `{"name": "light", "binary": "tool@stable", "every": "1h", "tier": "light"}`)
	w.PutJob(t, `{"name": "heavy", "binary": "tool@stable", "every": "1h", "tier": "heavy"}`)
	start := func(name string) error {
		_, _, err := w.Service.StartRun(t.Context(), "default", name, service.Start{By: "ann"})
		return err
	}
	held(89)
	if err := start("light"); err != nil {
		t.Fatalf("99 wait: %v", err)
	}
	held(90)
	w.Now = w.Now.Add(2 * time.Second)
	var refused *service.Error
	if err := start("light"); !errors.As(err, &refused) || refused.Kind != service.KindBusy || refused.Code != "backlog_full" || refused.RetryAfter == 0 {
		t.Errorf("100 wait: %v", err)
	}
	if _, err := w.Service.BackfillJob(t.Context(), "default", "light", w.Now.Add(-3*time.Hour), w.Now, "ann", false); !errors.As(err, &refused) {
		t.Errorf("a backfill while 100 wait: %v", err)
	}
	if err := start("heavy"); err != nil {
		t.Errorf("nothing of the tier waits: %v", err)
	}
	held(0)
	w.Now = w.Now.Add(2 * time.Second)
	if err := start("light"); err != nil {
		t.Errorf("10 wait: %v", err)
	}
}
