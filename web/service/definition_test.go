package service_test

import (
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
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

func TestLabelsAreChangedAndTheTextStays(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	const source = "# nightly\nkind: Job\nname: a\nbinary: report # the first\nlabels: {old: x}\n"
	documents, problems := spec.Decode("", []byte(source))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if _, _, err := w.Jobs.Save(t.Context(), "default", documents[0].Job, service.Save{Source: documents[0].Source}); err != nil {
		t.Fatal(err)
	}
	job, change, err := w.Jobs.Label(t.Context(), "default", "a", "ada", spec.LabelChange{Set: map[string]string{"team": "b"}, Remove: []string{"old"}})
	if err != nil || change != service.Changed || job.Generation != 2 || job.Spec.Labels["team"] != "b" || len(job.Spec.Labels) != 1 {
		t.Fatalf("%s: generation %d with %v, %v", change, job.Generation, job.Spec.Labels, err)
	}
	if !strings.HasPrefix(job.Source, "# nightly\n") || !strings.Contains(job.Source, "# the first\n") {
		t.Errorf("the comments are gone:\n%s", job.Source)
	}
	if _, change, err = w.Jobs.Label(t.Context(), "default", "a", "ada", spec.LabelChange{Remove: []string{"old"}}); err != nil || change != service.Unchanged {
		t.Errorf("asked twice: %s, %v", change, err)
	}
}
