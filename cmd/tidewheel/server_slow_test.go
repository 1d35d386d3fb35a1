package main

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/memory"
	"github.com/tidewheel/tidewheel/web"
	"github.com/tidewheel/tidewheel/web/auth"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// slowStore commits nothing until it may.
type slowStore struct {
	*memory.Store
	may chan struct{}
}

func (s slowStore) Commit(ctx context.Context, commits []engine.ShardCommit) []error {
	select {
	case <-s.may:
		return s.Store.Commit(ctx, commits)
	case <-ctx.Done():
		return slices.Repeat([]error{context.Cause(ctx)}, len(commits))
	}
}

// Of a node whose engine waits for its store, /readyz and the metrics say so until that has caught up.
func TestASlowStoreIsNamedByReadyzAndMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := slowStore{memory.New(), make(chan struct{})}
		job := spec.Job{Name: "slow", Binary: "tool", Schedule: spec.Strings{"0 * * * *"}}
		job.ApplyDefaults()
		if err := store.Jobs().Create(t.Context(), engine.Job{
			UID: "slow", Namespace: engine.DefaultNamespace, Name: "slow", Shard: engine.ShardOf("slow"),
			Spec: job, Generation: 1, Revision: 1, Pending: true, CreatedAt: time.Now(),
		}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		runner := shard.NewRunner(shard.DefaultConfig(), store, quietQueue{}, []int{engine.ShardOf("slow")}, testLog(t), nil)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = runner.Run(ctx) // it ends with the test
		}()
		role := &engineRole{ready: make(chan struct{})}
		role.runner.Store(runner)
		s := &Server{log: testLog(t), metrics: newMetrics(), engine: role, service: webtest.New(t).Service, disk: newDisk(t.TempDir(), testLog(t))}
		s.metrics.watchEngine(role.stats, role.shards)
		s.readers = auth.AnyReader()
		s.up.Store(true)
		ask := func(path string) string {
			answer := httptest.NewRecorder()
			s.healthHandler().ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
			if answer.Code != http.StatusOK {
				t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
			}
			return answer.Body.String()
		}
		<-runner.Ready()
		<-time.After(20 * time.Second)
		synctest.Wait()
		for path, line := range map[string]string{
			"/readyz":  `^ok, but the store is slower than what is asked of it: .* decisions about [1-9]\d* jobs and DAGs wait .* for 20s\n$`,
			"/metrics": `(?s)\ntidewheel_engine_store_lag_seconds 20\n.*\ntidewheel_engine_unwritten [1-9]`,
		} {
			if got := ask(path); !regexp.MustCompile(line).MatchString(got) {
				t.Errorf("of a slow store %s says %s", path, got)
			}
		}
		close(store.may)
		<-time.After(time.Second)
		synctest.Wait()
		for path, line := range map[string]string{
			"/readyz":  `^ok\n$`,
			"/metrics": `(?s)\ntidewheel_engine_store_lag_seconds 0\n.*\ntidewheel_engine_unwritten 0\n`,
		} {
			if got := ask(path); !regexp.MustCompile(line).MatchString(got) {
				t.Errorf("of a store that keeps up %s says %s", path, got)
			}
		}
		cancel()
		<-ended
	})
}

func TestDoctorNamesASlowStore(t *testing.T) {
	world := webtest.New(t)
	server, err := web.New(web.Config{
		Service: world.Service, Guard: auth.NewGuard(world.Access), Log: world.Log, Version: version,
	})
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(server.Handler())
	defer listening.Close()
	c := newTestCLI(t)
	for _, test := range []struct {
		behind         time.Duration
		result, detail string
	}{
		{0, checkOK, "takes what the engines ask of it"},
		{20 * time.Second, checkWarn, "on quay the store is slower than what is asked of it"},
	} {
		world.Queue.SetEngines(engine.EnginePresence{ID: "a", Host: "quay", Behind: test.behind, Unwritten: 7})
		doctor := c.run("doctor", "--url", listening.URL, "--token", webtest.RootToken, "-o", "json")
		found := false
		for _, item := range decode[wire.List[checked]](t, doctor.out).Items {
			if item.Check != "store" {
				continue
			}
			found = true
			if item.Result != test.result || !strings.Contains(item.Detail, test.detail) {
				t.Errorf("%s behind: the doctor says %+v", test.behind, item)
			}
		}
		if !found {
			t.Errorf("the doctor has no line about the store: %s%s", doctor.out, doctor.err)
		}
	}
}

func TestASlowStoreIsNamedInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		var since atomic.Pointer[time.Time]
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			watchSlow(ctx, func() string {
				var presence engine.EnginePresence
				if at := since.Load(); at != nil {
					presence.Waits(7, *at, time.Now())
				}
				return presence.Slow()
			}, slog.New(slog.NewTextHandler(&log, nil)))
		}()
		<-time.After(time.Minute)
		began := time.Now()
		since.Store(&began)
		<-time.After(3 * time.Minute)
		since.Store(nil)
		<-time.After(time.Minute)
		cancel()
		<-ended
		text := log.String()
		if n := strings.Count(text, "level=WARN"); n < 3 || n > 4 {
			t.Errorf("in three minutes it is said %d times", n)
		}
		for _, want := range []string{"the store is slower than what is asked of it: runs start late", "7 jobs and DAGs", "the store has caught up"} {
			if !strings.Contains(text, want) {
				t.Errorf("the log does not say %q:\n%s", want, text)
			}
		}
	})
}
