package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/store/memory"
)

// What runs leave counts beside binaries, and once there is no room, a run that leaves more fails and says what to do.
func TestArtifactsCountTowardsTheQuotaOfTheNamespace(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.must("namespace", "create", "finance")
	script := filepath.Join(t.TempDir(), "leave")
	text := "#!/bin/sh\nhead -c 5000 /dev/zero > \"$TIDEWHEEL_ARTIFACTS/a\"\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	s.must("binary", "push", "leave", script, "--alias", "stable", "-n", "finance")
	s.mustWith("kind: Job\nname: leave\nbinary: leave@stable\n", "apply", "-n", "finance", "-f", "-")
	s.must("namespace", "set", "finance", "--max-stored", "8KiB")
	s.must("run", "leave", "-n", "finance", "--wait")
	until(t, "the artifact counts", func() bool {
		shown := decode[wire.Namespace](t, s.must("namespace", "show", "finance", "-o", "json"))
		return shown.Usage.StoredBytes == int64(5000+len(text))
	})
	until(t, "the engine knows how much room is left", func() bool {
		room := s.server.stored.room("finance")
		return room != nil && *room == 8192-5000-int64(len(text))
	})
	s.refused(exitFailed, "", "run", "leave", "-n", "finance", "--wait")
	runs := decode[wire.List[wire.Run]](t, s.must("get", "runs", "-n", "finance", "--status", "failed,dead", "-o", "json"))
	if len(runs.Items) != 1 {
		t.Fatalf("%d runs failed", len(runs.Items))
	}
	described := s.must("describe", "run", runs.Items[0].ID, "-n", "finance")
	for _, part := range []string{"its artifacts have 5000B together", "may store 3", "tidewheel namespace set finance --max-stored"} {
		if !strings.Contains(described, part) {
			t.Errorf("%q is not in\n%s", part, described)
		}
	}
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, []byte("#!/bin/sh\n"+strings.Repeat("#", 4000)), 0o755); err != nil {
		t.Fatal(err)
	}
	s.refused(exitRefused, "wait until older runs go with their artifacts", "binary", "push", "large", large, "-n", "finance")

	s.must("namespace", "set", "finance", "--max-stored", "0")
	until(t, "the engine knows that there is no bound", func() bool { return s.server.stored.room("finance") == nil })
	s.must("run", "leave", "-n", "finance", "--wait")
	s.stop() // what was counted a moment ago is written at the end
	s.start()
	shown := decode[wire.Namespace](t, s.must("namespace", "show", "finance", "-o", "json"))
	if shown.Usage.StoredBytes != int64(10_000+len(text)) {
		t.Errorf("after a restart %d bytes are in use", shown.Usage.StoredBytes)
	}
}

func TestWhatRunsStoreIsWrittenOnce(t *testing.T) {
	store := memory.New()
	must(t, access.NewNamespaces(store, time.Now).Adopt(t.Context(), []string{"finance"}))
	_, err := access.NewNamespaces(store, time.Now).Change(t.Context(), "finance", "root", func(n *access.Namespace) { n.Quota.StoredBytes = 5000 })
	must(t, err)
	must(t, store.CreateBinary(t.Context(), engine.Binary{Namespace: "finance", Name: "tool", Revision: 1, Versions: []engine.BinaryVersion{{N: 1, Size: 30}, {N: 2, Size: 70}}}))
	stored := newStoredBytes(store, testLog(t))
	stored.keep(t.Context())
	room := func(want int64) {
		t.Helper()
		if room := stored.room("finance"); room == nil || *room != want {
			t.Errorf("there is room for %v, want %d", room, want)
		}
	}
	room(4900)
	if stored.room("default") != nil {
		t.Error("a namespace without a bound has one")
	}
	stored.ended(&engine.Run{
		Namespace: "finance", Artifacts: []engine.Artifact{{Name: "a", Size: 1000}, {Name: "b", Size: 100}},
		Attempts: []engine.Attempt{{N: 1}, {N: 2, Output: &engine.Output{Size: 200, Chunks: 1}}, {N: 3, Output: &engine.Output{Size: 5}}},
	})
	room(3600) // before it is written, too
	for range 2 {
		must(t, stored.write(t.Context()))
		room(3600)
	}
	stored.keep(t.Context())
	room(3600)
	stored.add("finance", -300)
	stored.add("finance", 5000)
	room(0)
	must(t, stored.write(t.Context()))
	all, err := stored.sums.All(t.Context())
	if want := map[string]int64{"finance": 6000}; err != nil || !maps.Equal(all, want) {
		t.Errorf("%v, %v, want %v", all, err, want)
	}
}

// A crash may leave the sums wrong; what is in S3 of runs that have ended is what counts.
func TestJanitorCountsAgainWhatRunsHaveStored(t *testing.T) {
	j, history := sweeping(t, retention{})
	history.runs = []engine.Run{
		{ID: "a", Namespace: "finance", Status: engine.StatusSucceeded, FinishedAt: sweepStart.Add(-time.Hour)},
		{ID: "b", Namespace: "finance", Status: engine.StatusRunning},
		{ID: "c", Namespace: "finance", Status: engine.StatusSucceeded, FinishedAt: sweepStart.Add(time.Second)},
		{ID: "d", Namespace: "default", Status: engine.StatusDead, FinishedAt: sweepStart.Add(-time.Hour)},
	}
	history.found = []map[string]int64{{"a": 10, "b": 1000, "d": 7}, {"a": 5, "c": 1000, "gone": 1000}}
	j.stored.add("finance", 99)
	j.stored.add("empty", 3)
	must(t, j.recountStored(t.Context()))
	all, err := j.stored.sums.All(t.Context())
	if want := map[string]int64{"finance": 15, "default": 7}; err != nil || !maps.Equal(all, want) {
		t.Errorf("%v, %v, want %v", all, err, want)
	}
}
