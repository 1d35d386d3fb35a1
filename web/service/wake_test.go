package service_test

import (
	"log/slog"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// Any web node changes any job, and each change wakes the owner of its shard at once, whichever node it came through.
func TestEveryWebNodeWakesTheEngine(t *testing.T) {
	w := webtest.New(t)
	w.PutBinary(t, "report")
	other := webtest.NewQueue()
	second := service.New(w.Store, w.Blobs, other, slog.New(slog.DiscardHandler), service.Config{})
	definition := spec.Job{Name: "nightly", Binary: "report", Schedule: spec.Strings{"0 3 * * *"}}
	definition.ApplyDefaults()
	job, _, err := w.Jobs.Save(t.Context(), engine.DefaultNamespace, &definition, service.Save{})
	if err != nil {
		t.Fatal(err)
	}
	want := engine.Wake{Shard: job.Shard, Kind: engine.WakeJob, Key: job.UID}
	if _, err := second.Jobs.Pause(t.Context(), engine.DefaultNamespace, "nightly", "ada", ""); err != nil {
		t.Fatal(err)
	}
	for name, wakes := range map[string][]engine.Wake{"the first": w.Queue.Wakes(), "the second": other.Wakes()} {
		if len(wakes) == 0 || wakes[len(wakes)-1] != want {
			t.Errorf("%s sent %v, want %v", name, wakes, want)
		}
	}
	pending, err := w.Store.PendingJobs(t.Context(), []int{job.Shard}, 10)
	if err != nil || len(pending) != 1 || !pending[0].Paused {
		t.Errorf("the engine finds %+v: %v", pending, err)
	}
}
