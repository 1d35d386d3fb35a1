package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// testServer is a server in this process, with a command line that finds it.
type testServer struct {
	*testCLI
	server *Server
	config ServerConfig
	greet  *safeBuffer
}

// serverConfigFor is the default configuration, on a free port and a folder of the test.
func serverConfigFor(t *testing.T) ServerConfig {
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // jobs may run as nobody, and must get through
		t.Fatal(err)
	}
	return ServerConfig{
		Data: filepath.Join(dir, "data"), HTTP: "127.0.0.1:0", Auth: true, Drain: 5 * time.Second, LockTTL: 2 * time.Second,
		Retention: defaultRetention, StateFolder: filepath.Join(t.TempDir(), "tidewheel"),
	}
}

func startServer(t *testing.T, config ServerConfig) *testServer {
	t.Helper()
	s := &testServer{testCLI: newTestCLI(t), config: config}
	s.env["XDG_STATE_HOME"] = filepath.Dir(config.StateFolder)
	s.start()
	return s
}

func (s *testServer) start() {
	s.t.Helper()
	s.greet = &safeBuffer{}
	server, err := NewServer(s.config, testLog(s.t), s.greet)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := server.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.server = server
	s.env["TIDEWHEEL_URL"] = server.URL()
	s.t.Cleanup(s.stop)
}

// stop ends the server; called again it does nothing.
func (s *testServer) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := s.server.Close(ctx); err != nil {
		s.t.Errorf("close: %v", err)
	}
}

func testLog(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(&lateWriter{w: t.Output()}, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// lateWriter is a test's output.
type lateWriter struct{ w io.Writer }

func (w *lateWriter) Write(p []byte) (int, error) { return w.w.Write(p) }

// push uploads a shell script under a name and the alias stable.
func (s *testServer) push(name, script string) {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		s.t.Fatal(err)
	}
	s.must("binary", "push", name, path, "--alias", "stable")
}

func (s *testServer) apply(text string) string {
	s.t.Helper()
	return s.mustWith(text, "apply", "-f", "-")
}

// show returns a run as the API shows it.
func (s *testServer) show(id string) wire.Run {
	s.t.Helper()
	return decode[wire.Run](s.t, s.must("get", "run", id, "-o", "json"))
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

func TestServerRunsAJobFromUploadToOutput(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("hello", `echo "hello $NAME of $TIDEWHEEL_JOB"; cat; exit ${STATUS:-0}`)
	if got := s.apply("kind: Job\nname: greeting\nbinary: hello@stable\npayload: {a: 1}\n"); got != "Job greeting created\n" {
		t.Errorf("apply said %q", got)
	}
	if got := s.apply("kind: Job\nname: greeting\nbinary: hello@stable\npayload: {a: 1}\n"); got != "Job greeting unchanged\n" {
		t.Errorf("the second apply said %q", got)
	}

	done := s.run("run", "greeting", "--wait", "--arg", "NAME=Ann", "--key", "first")
	if done.status != exitDone || done.out != "hello Ann of greeting\n{\"a\":1}" {
		t.Fatalf("run --wait: exit %d, output %q, %s", done.status, done.out, done.err)
	}
	s.refused(exitRefused, "another request", "run", "greeting", "--key", "first")
	again := s.run("run", "greeting", "--arg", "NAME=Ann", "--key", "first", "-o", "json")
	run := decode[wire.Run](t, again.out)
	if run.Status != engine.StatusSucceeded || run.Attempt != 1 {
		t.Errorf("the same key made another run: %+v", run)
	}
	if out := s.must("logs", "greeting"); out != done.out {
		t.Errorf("logs of the latest run say %q", out)
	}
	if out := s.must("logs", run.ID); out != done.out {
		t.Errorf("logs say %q", out)
	}

	failed := s.run("run", "greeting", "--wait", "--arg", "STATUS=65", "--payload", "[1]")
	if failed.status != exitFailed || !strings.Contains(failed.err, "exit 65") {
		t.Errorf("a run that failed: exit %d, %s", failed.status, failed.err)
	}
	for _, call := range [][]string{
		{"get", "jobs"}, {"get", "runs", "--job", "greeting"}, {"describe", "job", "greeting"}, {"describe", "run", run.ID},
		{"describe", "binary", "hello"}, {"binary", "ls"}, {"get", "executors"}, {"get", "queues"}, {"slots", "greeting"}, {"dlq", "ls"},
		{"get", "runs", "-o", "yaml"}, {"doctor", "--data", s.config.Data, "--http", strings.TrimPrefix(s.server.URL(), "http://")},
	} {
		if out := s.must(call...); out == "" {
			t.Errorf("tidewheel %s says nothing", strings.Join(call, " "))
		}
	}

	for _, refused := range []struct {
		words string
		args  []string
	}{
		{`there is no run, wave, job or DAG "nope"`, []string{"logs", "nope"}},
		{"there is no job", []string{"run", "nope"}},
		{"there is nothing to cancel", []string{"cancel", run.ID}},
		{"succeeded", []string{"retry", run.ID}},
		{"used by job", []string{"binary", "rm", "hello"}},
		{"has no version 9", []string{"binary", "alias", "hello", "stable", "9"}},
		{"has pointed to version 1 ever since", []string{"binary", "rollback", "hello"}},
	} {
		s.refused(exitRefused, refused.words, refused.args...)
	}
	s.refusedWith("kind: Job\nname: greeting\nbinary: missing@stable\n", exitRefused, "there is no binary \"missing\"", "apply", "-f", "-")
	s.refusedWith("kind: Job\nname: greeting\nbinary: hello\nfoo: 1\n", exitRefused, `-:4:1: unknown key "foo"`, "apply", "-f", "-")
}

func TestCancelRetryAndRestart(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	s.push("wait", `echo waiting; [ "$TIDEWHEEL_ATTEMPT" = 1 ] && sleep 60; echo through`)
	s.apply("kind: Job\nname: waiter\nbinary: wait@stable\ngrace: 1s\n")
	id := strings.TrimSpace(s.must("run", "waiter"))

	// The output is followed until the program says that it is there; then it is cancelled.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said := make(chan string, 1)
	follower := newCLI(strings.NewReader(""), &firstWrite{said: said}, io.Discard)
	follower.getenv = func(name string) string { return s.env[name] }
	followed := make(chan int, 1)
	go func() { followed <- follower.run(ctx, []string{"logs", id, "-f"}) }()
	if first := <-said; first != "waiting\n" {
		t.Errorf("the live output begins with %q", first)
	}
	s.must("cancel", id)
	if status := <-followed; status != exitDone {
		t.Errorf("logs -f ended with %d", status)
	}
	cancelled := s.show(id)
	for cancelled.Status == engine.StatusRunning { // the end of the output comes a moment before that of the run
		cancelled = s.show(id)
	}
	if cancelled.Status != engine.StatusCancelled {
		t.Fatalf("the cancelled run is %s", cancelled.Status)
	}
	if retried := s.run("retry", id, "--wait"); retried.status != exitDone || !strings.Contains(retried.out, "through") {
		t.Fatalf("retry --wait: exit %d, %q %s", retried.status, retried.out, retried.err)
	}
	if out := s.must("diff", id, id); out != "No differences.\n" {
		t.Errorf("a run differs from itself: %s", out)
	}

	s.stop()
	if _, err := os.Stat(sharedToken(s.config.StateFolder, strings.TrimPrefix(s.env["TIDEWHEEL_URL"], "http://"))); err == nil {
		t.Error("the token is still shared after the server has ended")
	}
	first := s.greet.String()
	s.start()
	if again := s.greet.String(); !strings.Contains(first, "/login?token=") || strings.Contains(again, "/login?token=") {
		t.Errorf("the login link is not printed at the first start alone:\n%s\n%s", first, again)
	}
	if run := s.show(id); run.Status != engine.StatusSucceeded || run.Attempt != 2 {
		t.Errorf("after a restart the run is %+v", run)
	}
}

// firstWrite passes on what is written first.
type firstWrite struct {
	said chan<- string
	text strings.Builder
	done bool
}

func (w *firstWrite) Write(p []byte) (int, error) {
	w.text.Write(p)
	if !w.done && strings.Contains(w.text.String(), "\n") {
		w.done = true
		w.said <- w.text.String()
	}
	return len(p), nil
}

func TestClosedServerLeavesNoGoroutine(t *testing.T) {
	before := goleak.IgnoreCurrent()
	s := startServer(t, serverConfigFor(t))
	s.push("tick", "echo tick")
	s.apply("kind: Job\nname: ticker\nbinary: tick@stable\nschedule: \"* * * * * *\"\n")
	s.must("run", "ticker", "--wait")
	s.stop()
	// The library under the embedded S3 has two that only look for their end from time to time.
	goleak.VerifyNone(t, before,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"))
}

func TestFoldersAndPortsThatAreTakenAreRefused(t *testing.T) {
	config := serverConfigFor(t)
	s := startServer(t, config)

	refuse := func(config ServerConfig, status int, words string) {
		t.Helper()
		server, err := NewServer(config, testLog(t), io.Discard)
		if err == nil {
			err = server.Start(t.Context())
		}
		if err == nil {
			_ = server.Close(context.WithoutCancel(t.Context()))
			t.Fatalf("a server started; want %q", words)
		}
		if text := explainError(err); exitStatus(err) != status || !strings.Contains(text, words) || strings.Contains(text, "\n") {
			t.Errorf("exit %d and %q; want exit %d and words like %q", exitStatus(err), text, status, words)
		}
	}
	refuse(config, exitRefused, "another tidewheel server uses")

	other := serverConfigFor(t)
	other.HTTP = strings.TrimPrefix(s.server.URL(), "http://")
	refuse(other, exitRefused, "--http: another program listens on")

	foreign := serverConfigFor(t)
	foreign.Data = t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign.Data, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refuse(foreign, exitRefused, "such as thesis.txt")
	if entries, err := os.ReadDir(foreign.Data); err != nil || len(entries) != 1 {
		t.Errorf("something was written into a foreign folder: %v, %v", entries, err)
	}

	newer := serverConfigFor(t)
	if err := os.MkdirAll(newer.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(newer.Data, markFile)
	if err := os.WriteFile(mark, []byte(`{"version": 99, "tidewheel": "v9.0.0"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	refuse(newer, exitRefused, "written by a newer Tidewheel (v9.0.0, layout 99")
	if err := os.WriteFile(mark, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	refuse(newer, exitRefused, "is damaged")

	file := serverConfigFor(t)
	if err := os.WriteFile(file.Data, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refuse(file, exitRefused, "give a folder")

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	taken := serverConfigFor(t)
	taken.NATSListen = listener.Addr().String()
	refuse(taken, exitRefused, "--nats-listen: another program listens on "+taken.NATSListen)
	taken.NATSListen, taken.S3Listen = "", listener.Addr().String()
	s.stop() // there is one embedded S3 in a process
	refuse(taken, exitRefused, "--s3-listen: ")

	away := serverConfigFor(t)
	away.NATSURL = "nats://127.0.0.1:1"
	refuse(away, exitFailed, "--nats-url: ")
	away = serverConfigFor(t)
	away.MongoURI = "mongodb://127.0.0.1:1/?authMechanism=bogus"
	refuse(away, exitRefused, "--mongodb-uri: ")
}

func TestTokenGuardsTheServer(t *testing.T) {
	s := startServer(t, serverConfigFor(t))
	path := filepath.Join(s.config.Data, tokenFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the token file: %v, %v", info, err)
	}
	if err := filepath.WalkDir(s.config.Data, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && filepath.Dir(path) == s.config.Data {
			if info, err := entry.Info(); err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s can be read by others: %s", path, info.Mode())
			}
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	token := readSharedToken(path)
	if strings.Contains(s.greet.String(), token) {
		t.Error("the token itself is printed")
	}
	status := func(target, token string) int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL()+target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	link := regexp.MustCompile(`http://\S+/login\?token=\S+`).FindString(s.greet.String())
	login := strings.TrimPrefix(link, s.server.URL())
	for _, want := range []struct {
		what   string
		got    int
		status int
	}{
		{"the API without a token", status("/api/v1/jobs", ""), http.StatusUnauthorized},
		{"the API with a wrong token", status("/api/v1/jobs", "tw_wrong"), http.StatusUnauthorized},
		{"the API with the token", status("/api/v1/jobs", token), http.StatusOK},
		{"health", status("/livez", ""), http.StatusOK},
		{"readiness", status("/readyz", ""), http.StatusOK},
		{"metrics from this machine", status("/metrics", ""), http.StatusUnauthorized},
		{"metrics with the token", status("/metrics", token), http.StatusOK},
		{"the pages without a session", status("/", ""), http.StatusSeeOther},
		{"the login link", status(login, ""), http.StatusSeeOther},
		{"the login link again", status(login, ""), http.StatusUnauthorized},
	} {
		if want.got != want.status {
			t.Errorf("%s: %d, want %d", want.what, want.got, want.status)
		}
	}
	s.must("get", "jobs") // finds the token by itself
	s.env["TIDEWHEEL_TOKEN"] = "tw_wrong"
	s.refused(exitRefused, "token", "get", "jobs")
	delete(s.env, "TIDEWHEEL_TOKEN")
	s.env["XDG_STATE_HOME"] = t.TempDir()
	s.refused(exitRefused, "--token", "get", "jobs")
}

// awaitPart returns once a part of the server has ended by itself.
func (s *testServer) awaitPart(name string) {
	s.t.Helper()
	s.server.parts.mu.Lock()
	running := slices.Clone(s.server.parts.running)
	s.server.parts.mu.Unlock()
	for _, part := range running {
		if part.name == name {
			<-part.done
			return
		}
	}
	s.t.Fatalf("the server has no part %q", name)
}

func TestDemoIsLoadedOnce(t *testing.T) {
	config := serverConfigFor(t)
	config.Demo, config.Auth = true, false
	s := startServer(t, config)
	deadline := time.After(20 * time.Second)
	ready := time.NewTicker(20 * time.Millisecond)
	defer ready.Stop()
	for !strings.Contains(s.must("get", "jobs"), "slow-tide") { // the last by name of those in the program itself
		select {
		case <-ready.C:
		case <-deadline:
			t.Fatalf("the examples are not there:\n%s", s.must("get", "jobs"))
		}
	}
	if run := s.run("run", "harbour-log", "--wait"); run.status != exitDone || run.out == "" {
		t.Errorf("an example ended with %d: %s%s", run.status, run.out, run.err)
	}
	s.awaitPart("demo")
	s.must("delete", "job", "slow-tide")
	s.stop()
	s.start()
	s.awaitPart("demo")
	if out := s.must("get", "jobs"); !strings.Contains(out, "harbour-log") || strings.Contains(out, "slow-tide") {
		t.Errorf("after a restart there should be all examples but the one that was deleted:\n%s", out)
	}
}
