package service_test

import (
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// TestPauseKeepsItsReasonUntilItIsResumed holds for jobs and DAGs alike.
func TestPauseKeepsItsReasonUntilItIsResumed(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	w.PutJob(t, `{"name":"nightly","binary":"report","schedule":"0 3 * * *"}`)
	w.PutDAG(t, `{"kind":"DAG","name":"etl","tasks":{"orders":{"binary":"report","schedule":"0 * * * *"}}}`)
	t.Run("job", func(t *testing.T) { pauseKeepsItsReason(t, w.Jobs, "nightly") })
	t.Run("DAG", func(t *testing.T) { pauseKeepsItsReason(t, w.DAGs, "etl") })
}

func pauseKeepsItsReason[S engine.Spec](t *testing.T, of *service.Definitions[S], name string) {
	ctx := t.Context()
	pause := func(by, reason string) engine.Definition[S] {
		t.Helper()
		paused, err := of.Pause(ctx, "default", name, by, reason)
		if err != nil || !paused.Paused {
			t.Fatalf("paused %t, %v", paused.Paused, err)
		}
		return paused
	}
	first := pause("ann", " too loud ")
	if first.PausedReason != "too loud" || first.PausedBy != "ann" || !first.PausedAt.Equal(webtest.Start) {
		t.Errorf("paused by %q at %s: %q", first.PausedBy, first.PausedAt, first.PausedReason)
	}
	if again := pause("bo", ""); again.Revision != first.Revision || again.PausedBy != "ann" {
		t.Errorf("paused again without a reason: by %q, revision %d", again.PausedBy, again.Revision)
	}
	if again := pause("bo", "far too loud"); again.PausedReason != "far too loud" || again.PausedBy != "bo" || again.Revision != first.Revision+1 {
		t.Errorf("paused again for another reason: by %q, revision %d, %q", again.PausedBy, again.Revision, again.PausedReason)
	}
	_, err := of.Pause(ctx, "default", name, "ann", strings.Repeat("x", service.MaxReason+1))
	refused(t, err, service.KindInvalid, "reason_too_long")
	resumed, err := of.Resume(ctx, "default", name, "cem")
	if err != nil || resumed.Paused || resumed.PausedReason != "" || resumed.PausedBy != "cem" {
		t.Errorf("resumed: %+v, %v", resumed, err)
	}
}
