package client_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web"
	"github.com/tidewheel/tidewheel/web/auth"
	"github.com/tidewheel/tidewheel/web/webtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "tw_0123456789abcdefghijklmnop"

type site struct {
	*webtest.World
	api    *client.Client
	url    string
	server *httptest.Server
}

// newSite is a client of a real server over a world in memory.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{World: webtest.New(t)}
	server, err := web.New(web.Config{
		Service: s.Service, Guard: auth.NewGuard(s.Access), Log: s.Log, Version: "v0-test",
	})
	if err != nil {
		t.Fatal(err)
	}
	s.server = httptest.NewServer(server.Handler())
	s.url = s.server.URL
	s.api = newClient(t, client.Config{URL: s.url + "/", Token: token, UserAgent: "test"})
	t.Cleanup(s.server.Close)
	t.Cleanup(s.server.CloseClientConnections)
	return s
}

func newClient(t *testing.T, config client.Config) *client.Client {
	t.Helper()
	c, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// refused checks that an error is an answer with a status and a code.
func refused(t *testing.T, err error, status int, code string) *client.APIError {
	t.Helper()
	var answer *client.APIError
	if !errors.As(err, &answer) || answer.Status != status || answer.Code != code {
		t.Fatalf("%v (%T), want %d %s", err, err, status, code)
	}
	return answer
}

type definition = map[string]any

func TestJobs(t *testing.T) {
	s, ctx := newSite(t), t.Context()
	s.PutBinary(t, "report")
	job := must[wire.Job](t)(s.api.CreateJob(ctx, definition{"name": "a", "binary": "report", "schedule": "@hourly"}))
	if job.Name != "a" || job.CreatedBy != "root" || job.Spec.Schedule[0] != "@hourly" {
		t.Errorf("created %+v", job)
	}
	_, err := s.api.CreateJob(ctx, definition{"name": "a", "binary": "report"})
	refused(t, err, 409, "job_exists")
	_, err = s.api.CreateJob(ctx, definition{"name": "a/b", "binary": "absent"})
	if answer := refused(t, err, 422, "invalid_definition"); len(answer.Errors) == 0 || answer.Errors[0].Location != "body.name" || answer.Detail == "" {
		t.Errorf("refused with %+v", answer)
	}
	edited := must[wire.Job](t)(s.api.PutJob(ctx, "a", definition{"binary": "report", "every": "90s"}, job.Revision, "faster"))
	if edited.Generation != 2 || edited.Message != "faster" {
		t.Errorf("edited %+v", edited)
	}
	_, err = s.api.PutJob(ctx, "a", definition{"binary": "report"}, job.Revision, "")
	refused(t, err, 412, "job_changed")
	if paused := must[wire.Job](t)(s.api.PauseJob(ctx, "a", "too loud & late")); !paused.Paused || paused.PausedReason != "too loud & late" {
		t.Errorf("paused %+v", paused)
	}
	if resumed := must[wire.Job](t)(s.api.ResumeJob(ctx, "a")); resumed.Paused {
		t.Errorf("resumed %+v", resumed)
	}
	if list := must[wire.List[wire.Job]](t)(s.api.Jobs(ctx, client.DefinitionFilter{Text: "A", Page: client.Page{Limit: 1}})); len(list.Items) != 1 {
		t.Errorf("listed %+v", list)
	}
	if forms := must[wire.List[wire.Generation]](t)(s.api.Generations(ctx, "a", client.Page{})); len(forms.Items) != 2 || forms.Next != "" {
		t.Errorf("generations %+v", forms)
	}
	if next := must[wire.Preview](t)(s.api.NextSlots(ctx, "a", webtest.Start.Add(time.Hour), 3)); len(next.Items) != 3 || !next.Items[0].Slot.After(webtest.Start.Add(time.Hour)) {
		t.Errorf("next %+v", next)
	}
	if shown := must[wire.Preview](t)(s.api.PreviewSchedule(ctx, wire.PreviewRequest{Schedule: []string{"@daily"}, Count: 2})); len(shown.Items) != 2 {
		t.Errorf("preview %+v", shown)
	}
	plan := must[wire.Backfill](t)(s.api.Backfill(ctx, "a", wire.BackfillRequest{From: webtest.Start.Add(-time.Hour), To: webtest.Start, DryRun: true}))
	if plan.New != 40 {
		t.Errorf("backfill %+v", plan)
	}
	if list := must[wire.List[wire.LedgerEntry]](t)(s.api.Slots(ctx, "a", webtest.Start, client.Page{})); len(list.Items) != 0 {
		t.Errorf("slots %+v", list)
	}
	if err := s.api.DeleteJob(ctx, "a", edited.Revision); refused(t, err, 412, "job_changed") == nil {
		t.Error(err)
	}
	if err := s.api.DeleteJob(ctx, "a", 0); err != nil {
		t.Error(err)
	}
	_, err = s.api.Job(ctx, "a")
	refused(t, err, 404, "job_not_found")
	_, err = s.api.Job(ctx, "a/b c?d#e%2F")
	if answer := refused(t, err, 404, "job_not_found"); !strings.Contains(answer.Detail, `a/b c?d#e%2F`) {
		t.Errorf("the name did not arrive as it was: %s", answer.Detail)
	}
	once := must[wire.OneOff](t)(s.api.RunOnce(ctx, wire.OneOffRequest{JobType: "report", Retries: 1}, "k"))
	if again := must[wire.OneOff](t)(s.api.RunOnce(ctx, wire.OneOffRequest{JobType: "report", Retries: 1}, "k")); again.RunID != once.RunID {
		t.Errorf("once %s, again %s", once.RunID, again.RunID)
	}
	_, err = s.api.RunOnce(ctx, wire.OneOffRequest{JobType: "report"}, "k")
	refused(t, err, 422, "key_reused")
}

func TestRuns(t *testing.T) {
	s, ctx := newSite(t), t.Context()
	s.PutBinary(t, "report")
	job := s.PutJob(t, `{"name":"a","binary":"report"}`)
	request := wire.RunRequest{Payload: []byte(`{"x":1}`), Args: map[string]string{"K": "v"}}
	run := must[wire.Run](t)(s.api.RunJob(ctx, "a", request, "key"))
	if again := must[wire.Run](t)(s.api.RunJob(ctx, "a", request, "key")); again.ID != run.ID || string(again.Payload) != `{"x":1}` {
		t.Errorf("asked again: %+v", again)
	}
	if other := must[wire.Run](t)(s.api.RunJob(ctx, "a", wire.RunRequest{}, "")); other.ID == run.ID {
		t.Error("two runs without a key are one")
	}
	_, err := s.api.RunJob(ctx, "a", wire.RunRequest{}, "key")
	refused(t, err, 422, "key_reused")
	dead := webtest.Ended(s.Running(job, webtest.Start), engine.StatusDead, "out\n")
	s.PutRun(t, s.Running(job, webtest.Start))
	s.PutRun(t, dead)
	s.Write(t, engine.Batch{DeadLetters: []engine.DeadLetter{{RunID: dead.ID, Namespace: "default", Job: "a", JobUID: job.UID, At: webtest.Start}}})
	list := must[wire.List[wire.Run]](t)(s.api.Runs(ctx, client.RunFilter{
		Job: "a", Statuses: []string{"dead", "failed"}, Since: webtest.Start.Add(-time.Hour), Until: webtest.Start.Add(time.Hour), Text: dead.ID, Tier: "medium",
	}))
	if len(list.Items) != 1 || list.Items[0].ID != dead.ID {
		t.Errorf("listed %+v", list)
	}
	if one := must[wire.Run](t)(s.api.Run(ctx, dead.ID)); one.Status != engine.StatusDead || *one.ExitCode != 1 {
		t.Errorf("run %+v", one)
	}
	must[wire.Run](t)(s.api.RetryRun(ctx, dead.ID))
	must[wire.Run](t)(s.api.ReplayDeadLetter(ctx, dead.ID))
	must[wire.Run](t)(s.api.CancelRun(ctx, run.ID))
	if letters := must[wire.List[wire.DeadLetter]](t)(s.api.DeadLetters(ctx, client.DeadLetterFilter{Job: "a", Until: webtest.Start})); len(letters.Items) != 1 {
		t.Errorf("dead letters %+v", letters)
	}
	if letter := must[wire.DeadLetter](t)(s.api.DeadLetter(ctx, dead.ID)); letter.Job != "a" {
		t.Errorf("dead letter %+v", letter)
	}
	if handled := must[wire.DeadLettersHandled](t)(s.api.ReplayDeadLetters(ctx, wire.DeadLetterSelection{Job: "a"})); len(handled.Items) != 1 {
		t.Errorf("replayed %+v", handled)
	}
	if handled := must[wire.DeadLettersHandled](t)(s.api.PurgeDeadLetters(ctx, wire.DeadLetterSelection{Job: "b"})); len(handled.Items) != 0 {
		t.Errorf("purged %+v", handled)
	}
	if err := s.api.PurgeDeadLetter(ctx, dead.ID); err != nil {
		t.Error(err)
	}
	refused(t, s.api.PurgeDeadLetter(ctx, dead.ID), 404, "dead_letter_not_found")
}

func TestBinaries(t *testing.T) {
	s, ctx := newSite(t), t.Context()
	const program = "#!/bin/sh\nexit 0\n"
	var progress int64
	upload := must[wire.Upload](t)(s.api.UploadBinary(ctx, "report", strings.NewReader(program), client.UploadOptions{
		Size: int64(len(program)), Aliases: []string{"stable", "blue"}, Progress: func(sent int64) { progress = sent },
	}))
	if upload.Version.N != 1 || upload.Aliases["blue"] != 1 || progress != int64(len(program)) {
		t.Errorf("uploaded %+v, progress %d", upload, progress)
	}
	second := must[wire.Upload](t)(s.api.UploadBinary(ctx, "report", strings.NewReader(program+"#"), client.UploadOptions{Aliases: []string{"stable"}}))
	if second.Version.N != 2 {
		t.Errorf("second %+v", second)
	}
	content := must[*client.Content](t)(s.api.DownloadBinary(ctx, "report", 1))
	defer content.Close()
	if data, err := io.ReadAll(content); string(data) != program || err != nil || content.Size != int64(len(program)) || content.SHA256 != upload.Version.SHA256 {
		t.Errorf("downloaded %q (%d bytes, %s), %v", data, content.Size, content.SHA256, err)
	}
	_, err := s.api.DownloadBinary(ctx, "report", 9)
	refused(t, err, 404, "version_not_found")
	_, err = s.api.UploadBinary(ctx, "report", strings.NewReader(program), client.UploadOptions{SHA256: strings.Repeat("0", 64)})
	refused(t, err, 422, "digest_mismatch")
	_, err = s.api.UploadBinary(ctx, "report", strings.NewReader(webtest.ForeignProgram), client.UploadOptions{})
	refused(t, err, 422, "foreign_program")
	must[wire.Upload](t)(s.api.UploadBinary(ctx, "other", strings.NewReader(webtest.ForeignProgram), client.UploadOptions{AnyPlatform: true}))
	if back := must[wire.Rollback](t)(s.api.RollBack(ctx, "report", "")); back.Move.To != 1 {
		t.Errorf("rolled back %+v", back)
	}
	if moved := must[wire.Binary](t)(s.api.MoveAlias(ctx, "report", "blue", 2)); moved.Aliases["blue"] != 2 {
		t.Errorf("moved %+v", moved)
	}
	if one := must[wire.Binary](t)(s.api.Binary(ctx, "report")); len(one.Versions) != 2 {
		t.Errorf("binary %+v", one)
	}
	if list := must[wire.List[wire.Binary]](t)(s.api.Binaries(ctx, client.Page{Limit: 1})); len(list.Items) != 1 || list.Next == "" {
		t.Errorf("listed %+v", list)
	}
	if err := s.api.DeleteBinary(ctx, "other"); err != nil {
		t.Error(err)
	}
}

// A program that will be refused is not sent: the server is asked first.
func TestRefusedUploadIsNotSent(t *testing.T) {
	s := newSite(t)
	stranger := newClient(t, client.Config{URL: s.url, Token: "x"})
	sent := int64(0)
	_, err := stranger.UploadBinary(t.Context(), "report", io.LimitReader(zeros{}, 64<<20), client.UploadOptions{
		Size: 64 << 20, Progress: func(n int64) { sent = n },
	})
	refused(t, err, 401, "invalid_token")
	if sent != 0 {
		t.Errorf("%d bytes were sent", sent)
	}
	broken := errors.New("the disk is broken")
	_, err = s.api.UploadBinary(t.Context(), "report", io.MultiReader(strings.NewReader("#!"), faulty{broken}), client.UploadOptions{})
	if !errors.Is(err, broken) {
		t.Errorf("a file that cannot be read gives %v", err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

type faulty struct{ err error }

func (f faulty) Read([]byte) (int, error) { return 0, f.err }

func TestLogs(t *testing.T) {
	s, ctx := newSite(t), t.Context()
	s.PutBinary(t, "report")
	run := s.Running(s.PutJob(t, `{"name":"a","binary":"report"}`), webtest.Start)
	s.PutRun(t, run)
	log := must[*client.Log](t)(s.api.Logs(ctx, run.ID, client.LogOptions{Follow: true}))
	defer log.Close()
	if log.Complete || log.Attempt != 1 {
		t.Errorf("log %+v", log)
	}
	<-s.Queue.Watching
	if err := s.Queue.Say(ctx, engine.LogFrame{Run: run.ID, Attempt: 1, Data: []byte("one\n")}); err != nil {
		t.Fatal(err)
	}
	s.PutRun(t, webtest.Ended(run, engine.StatusSucceeded, "one\ntwo\n"))
	if err := s.Queue.Say(ctx, engine.LogFrame{Run: run.ID, Attempt: 1, Offset: 8, End: true}); err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(log); string(data) != "one\ntwo\n" || err != nil {
		t.Errorf("followed %q, %v", data, err)
	}
	last := must[*client.Log](t)(s.api.Logs(ctx, run.ID, client.LogOptions{Tail: 1}))
	defer last.Close()
	if data, err := io.ReadAll(last); string(data) != "two\n" || err != nil || last.Size != 8 || last.Offset != 4 || !last.Complete {
		t.Errorf("tail %q of %+v, %v", data, last, err)
	}
	rest := must[*client.Log](t)(s.api.Logs(ctx, run.ID, client.LogOptions{Attempt: 1, Offset: 6}))
	defer rest.Close()
	if data, err := io.ReadAll(rest); string(data) != "o\n" || err != nil {
		t.Errorf("from the middle %q, %v", data, err)
	}
	_, err := s.api.Logs(ctx, run.ID, client.LogOptions{Attempt: 2})
	refused(t, err, 404, "attempt_not_found")
}

func TestBrokenStreamIsUnreachable(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	run := s.Running(s.PutJob(t, `{"name":"a","binary":"report"}`), webtest.Start)
	s.PutRun(t, run)
	log := must[*client.Log](t)(s.api.Logs(t.Context(), run.ID, client.LogOptions{Follow: true}))
	defer log.Close()
	<-s.Queue.Watching
	s.server.CloseClientConnections()
	if _, err := io.ReadAll(log); !errors.Is(err, client.ErrUnreachable) {
		t.Errorf("a broken connection gives %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	again := must[*client.Log](t)(s.api.Logs(ctx, run.ID, client.LogOptions{Follow: true}))
	defer again.Close()
	cancel()
	if _, err := io.ReadAll(again); !errors.Is(err, context.Canceled) || errors.Is(err, client.ErrUnreachable) {
		t.Errorf("giving up gives %v", err)
	}
}

func TestDocuments(t *testing.T) {
	s, ctx := newSite(t), t.Context()
	s.PutBinary(t, "report")
	files := []client.File{
		{Name: "jobs/a b.yaml", Data: []byte("kind: Job\nname: a\nbinary: report\n")},
		{Name: "jobs/ü\n.json", Data: []byte(`{"kind":"Job","name":"b","binary":"report"}`)},
	}
	for _, want := range []string{"created", "unchanged"} {
		applied := must[wire.Applied](t)(s.api.Apply(ctx, files, client.ApplyOptions{Message: "why"}))
		for i, item := range applied.Items {
			if item.Change != want || item.File != files[i].Name {
				t.Errorf("applied %+v, want %s", item, want)
			}
		}
	}
	pruned := must[wire.Applied](t)(s.api.Apply(ctx, files[:1], client.ApplyOptions{Prune: true, DryRun: true}))
	if len(pruned.Items) != 2 || pruned.Items[1].Change != "deleted" || !pruned.DryRun {
		t.Errorf("pruned %+v", pruned)
	}
	if checked := must[wire.Validated](t)(s.api.Validate(ctx, files)); len(checked.Items) != 2 {
		t.Errorf("validated %+v", checked)
	}
	_, err := s.api.Validate(ctx, []client.File{{Name: "x/bad.yaml", Data: []byte("kind: Job\nname: a\nbinary: report\nshedule: x\n")}})
	if answer := refused(t, err, 422, "invalid_definition"); answer.Errors[0].File != "x/bad.yaml" || answer.Errors[0].Line != 4 {
		t.Errorf("refused with %+v", answer.Errors)
	}
}

func TestCluster(t *testing.T) {
	s, ctx := newSite(t), t.Context()
	s.Queue.SetExecutors(engine.Presence{ID: "one"})
	s.Queue.SetDepths(engine.QueueDepth{Tier: "light", Class: "standard"})
	if list := must[[]wire.Executor](t)(s.api.Executors(ctx)); len(list) != 1 || list[0].ID != "one" {
		t.Errorf("executors %+v", list)
	}
	if list := must[[]wire.Queue](t)(s.api.Queues(ctx)); len(list) != 1 {
		t.Errorf("queues %+v", list)
	}
	if got := must[wire.Version](t)(s.api.Version(ctx)); got.Version != "v0-test" {
		t.Errorf("version %+v", got)
	}
}

func TestWatch(t *testing.T) {
	s := newSite(t)
	s.PutBinary(t, "report")
	run := s.Running(s.PutJob(t, `{"name":"a","binary":"report"}`), webtest.Start)
	s.PutRun(t, run)
	seen := errors.New("seen")
	watched := make(chan error, 1)
	go func() {
		watched <- s.api.Watch(t.Context(), func(event wire.Event) error {
			if event.Kind == "run" && event.ID == run.ID && event.Status == "succeeded" {
				return seen
			}
			return fmt.Errorf("heard %+v", event)
		})
	}()
	s.Queue.Looked(t)
	s.PutRun(t, webtest.Ended(run, engine.StatusSucceeded, ""))
	if err := <-watched; !errors.Is(err, seen) {
		t.Error(err)
	}
}

func TestServerThatIsNone(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + listener.Addr().String()
	listener.Close()
	_, err = newClient(t, client.Config{URL: nobody}).Version(t.Context())
	if !errors.Is(err, client.ErrUnreachable) || !strings.Contains(err.Error(), "connection refused") || !strings.Contains(err.Error(), nobody) {
		t.Errorf("nobody there: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newClient(t, client.Config{URL: nobody}).Version(canceled); !errors.Is(err, context.Canceled) || errors.Is(err, client.ErrUnreachable) {
		t.Errorf("given up: %v", err)
	}

	for name, handler := range map[string]http.HandlerFunc{
		"pages":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"an error": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusBadGateway) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/", http.StatusFound)
		},
		"cut in half": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "99")
			_, _ = io.WriteString(w, "{")
		},
		"a huge error": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			_, _ = w.Write(bytes.Repeat([]byte("x"), 8<<20))
		},
	} {
		other := httptest.NewServer(handler)
		_, err := newClient(t, client.Config{URL: other.URL, Token: token}).Version(t.Context())
		if err == nil || len(err.Error()) > 300 {
			t.Errorf("%s: %.300v", name, err)
		}
		var answer *client.APIError
		if errors.As(err, &answer) && answer.Code != "" {
			t.Errorf("%s has the code %q", name, answer.Code)
		}
		if name == "cut in half" && !errors.Is(err, client.ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
		other.CloseClientConnections()
		other.Close()
	}
}

func TestAddressIsChecked(t *testing.T) {
	for _, address := range []string{"", "localhost:8080", "ftp://x", "http://", "://", "http://[::1"} {
		if _, err := client.New(client.Config{URL: address}); err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:8080") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
