package main

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/blob"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/storetest"
)

// Output and artifacts go by an age of their own: that of the job or DAG, of its namespace, or of the server.
func TestOutputGoesBeforeItsRun(t *testing.T) {
	ctx := t.Context()
	config := placeConfig{names: placeNames{"data", "mongodb-uri", "s3"}, data: filepath.Join(t.TempDir(), "data")}
	p, err := openPlace(ctx, config, slog.New(slog.DiscardHandler))
	must(t, err)
	t.Cleanup(func() { _ = p.close(context.WithoutCancel(ctx)) })
	store, _ := p.documents.(store)
	ended := time.Now()
	for name, keep := range map[string]spec.Retention{"brief": {Output: spec.Duration(24 * time.Hour)}, "plain": {Runs: 1000}} {
		_, err := access.NewNamespaces(store, time.Now).Create(ctx, access.Namespace{Name: name, Retention: keep})
		must(t, err)
	}
	definition := func(uid string, output time.Duration) engine.Job {
		return engine.Job{
			UID: uid, Namespace: "brief", Name: uid, Shard: engine.ShardOf(uid), Generation: 1, Revision: 1, CreatedAt: ended, UpdatedAt: ended,
			Spec: spec.Job{Kind: spec.KindJob, Name: uid, Binary: "report", Retention: spec.Retention{Output: spec.Duration(output)}},
		}
	}
	must(t, store.Jobs().Create(ctx, definition("lasting", 96*time.Hour)))
	must(t, store.Jobs().Create(ctx, definition("briefer", time.Hour)))
	var batch engine.Batch
	left := func(run engine.Run) {
		run.Revision, run.Tier, run.Shard, run.CreatedAt = 1, spec.TierLight, engine.ShardOf(run.JobUID), ended
		if run.Status == 0 {
			run.Status, run.FinishedAt = engine.StatusSucceeded, ended
		}
		run.Artifacts = []engine.Artifact{{Name: "report.csv", Size: 4, SHA256: strings.Repeat("0", 64)}}
		_, err := p.objects.PutArtifact(ctx, run.ID, 1, "report.csv", io.NewSectionReader(strings.NewReader("a,b\n"), 0, 4))
		must(t, err)
		writer, err := p.objects.NewLogWriter(ctx, run.ID, 1)
		must(t, err)
		_, err = writer.Write([]byte("a line of output\n"))
		must(t, err)
		_, err = writer.Close()
		must(t, err)
		run.Attempts = []engine.Attempt{{N: 1, Output: &engine.Output{Size: 17, Lines: 1, Chunks: 1}}}
		batch.Runs = append(batch.Runs, run)
	}
	left(engine.Run{ID: "server-s1", Namespace: "plain", JobUID: "server", Job: "server"})
	left(engine.Run{ID: "namespace-s1", Namespace: "brief", JobUID: "deleted", Job: "deleted"})
	left(engine.Run{ID: "lasting-s1", Namespace: "brief", JobUID: "lasting", Job: "lasting"})
	left(engine.Run{ID: "briefer-s1", Namespace: "brief", JobUID: "briefer", Job: "briefer"})
	left(engine.Run{ID: "running-s1", Namespace: "brief", JobUID: "deleted", Job: "deleted", Status: engine.StatusRunning})
	for epoch, status := range map[int64]engine.Status{1: engine.StatusSucceeded, 2: engine.StatusRunning} {
		wave := engine.Wave{
			ID: engine.WaveID("dag", epoch), Revision: 1, Namespace: "brief", DAGUID: "dag", DAG: "dag", Shard: engine.ShardOf("dag"), Epoch: epoch,
			Status: status, CreatedAt: ended,
		}
		if status.Terminal() {
			wave.FinishedAt = ended
		}
		batch.Waves = append(batch.Waves, wave)
		left(engine.Run{ID: engine.TaskRunID(wave.ID, "a"), Namespace: "brief", JobUID: "dag", DAG: "dag", Wave: wave.ID, Epoch: epoch, Task: "a"})
	}
	must(t, storetest.Write(ctx, store.(storetest.Commits), batch))
	over, open := engine.TaskRunID(engine.WaveID("dag", 1), "a"), engine.TaskRunID(engine.WaveID("dag", 2), "a")

	for _, step := range []struct {
		after, server time.Duration
		stay          []string
	}{
		{30 * time.Minute, 0, []string{"briefer-s1", over, open, "lasting-s1", "namespace-s1", "running-s1", "server-s1"}},
		{2 * time.Hour, 0, []string{over, open, "lasting-s1", "namespace-s1", "running-s1", "server-s1"}},
		{48 * time.Hour, 0, []string{open, "lasting-s1", "running-s1", "server-s1"}},
		{48 * time.Hour, 24 * time.Hour, []string{open, "lasting-s1", "running-s1"}},
	} {
		keep := retention{History: 30 * 24 * time.Hour, Output: step.server}
		j := newJanitor(store, p.objects, newStoredBytes(store, testLog(t)), keep, alone, testLog(t), newMetrics())
		j.now, j.pause, j.breath = func() time.Time { return ended.Add(step.after) }, 0, noBreath
		must(t, j.sweepOutput(ctx))
		slices.Sort(step.stay)
		for _, folder := range []blob.Folder{blob.Logs, blob.Artifacts} {
			there := map[string]bool{}
			must(t, p.objects.Objects(ctx, folder, func(object blob.Object) error {
				there[strings.Split(object.Key, "/")[1]] = true
				return nil
			}))
			if got := slices.Sorted(maps.Keys(there)); !slices.Equal(got, step.stay) {
				t.Errorf("%s later, with %s of the server: in %s those of %v stay, want %v", step.after, step.server, folder, got, step.stay)
			}
		}
		search := &orphanSearch{store: store, history: store, blobs: p.objects, output: step.server, now: ended.Add(step.after)}
		if found, err := search.find(ctx); err != nil || len(found) > 0 {
			t.Errorf("%s later: what retention removes is no orphan: %v, %v", step.after, found, err)
		}
	}
	if runs, err := store.RunsByID(ctx, []string{"server-s1", "namespace-s1", "briefer-s1", over}); err != nil || len(runs) != 4 {
		t.Errorf("of the runs %d are left, %v, want all", len(runs), err)
	}
}
