package service_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
	"github.com/tidewheel/tidewheel/web/webtest"
)

// bounded is a world whose namespace default has a quota.
func bounded(t *testing.T, quota access.Quota) *webtest.World {
	t.Helper()
	w := webtest.New(t)
	w.PutBinary(t, "tool", "stable")
	setQuota(t, w, quota)
	return w
}

func setQuota(t *testing.T, w *webtest.World, quota access.Quota) {
	t.Helper()
	if _, err := w.Service.ChangeNamespace(root(t), "default", service.NamespaceChange{Quota: func(q *access.Quota) { *q = quota }}); err != nil {
		t.Fatal(err)
	}
}

func root(t *testing.T) context.Context { return access.With(t.Context(), access.Local()) }

// refusedBy checks that an error is the refusal of a quota.
func refusedBy(t *testing.T, err error, kind service.Kind, code string) {
	t.Helper()
	var refused *service.Error
	if !errors.As(err, &refused) || refused.Kind != kind || refused.Code != code {
		t.Fatalf("%v; want a refusal of kind %s by %s", err, kind, code)
	}
	if (refused.RetryAfter > 0) != (kind == service.KindBusy) {
		t.Errorf("it may be asked for again after %s", refused.RetryAfter)
	}
	if !strings.Contains(refused.Detail, "admin of all namespaces") {
		t.Errorf("%q does not say who can change it", refused.Detail)
	}
}

func documentsOf(t *testing.T, names ...string) []spec.Document {
	t.Helper()
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "---\nkind: Job\nname: %s\nbinary: tool@stable\n", name)
	}
	documents, problems := spec.Decode("all.yaml", []byte(text.String()))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return documents
}

func TestDefinitionsBeyondTheQuotaAreRefusedWhole(t *testing.T) {
	w := bounded(t, access.Quota{Jobs: 3})
	apply := func(names ...string) error {
		_, err := w.Service.ApplyDocuments(t.Context(), "default", documentsOf(t, names...), service.Apply{By: "ann"})
		return err
	}
	if err := apply("a", "b"); err != nil {
		t.Fatal(err)
	}
	refusedBy(t, apply("a", "b", "c", "d"), service.KindForbidden, "quota_jobs")
	if usage, err := w.Service.UsageOf(t.Context(), "default"); err != nil || usage.Jobs != 2 {
		t.Errorf("%+v, %v: something of what was refused was saved", usage, err)
	}
	slow := service.New(slowStore{w.Store}, w.Blobs, w.Queue, w.Log, service.Config{})
	var saved sync.WaitGroup
	begin := make(chan struct{})
	for i := range 20 {
		documents := documentsOf(t, fmt.Sprint("e", i))
		saved.Go(func() {
			<-begin
			_, _ = slow.ApplyDocuments(t.Context(), "default", documents, service.Apply{By: "ann"})
		})
	}
	close(begin)
	saved.Wait()
	if usage, err := w.Service.UsageOf(t.Context(), "default"); err != nil || usage.Jobs != 3 {
		t.Errorf("%+v, %v", usage, err)
	}
	if err := apply("a", "b"); err != nil {
		t.Errorf("what is there cannot be applied again: %v", err)
	}
	w.PutNamespace(t, "other")
	w.PutBinaryIn(t, "other", "tool")
	if _, err := w.Service.ApplyDocuments(t.Context(), "other", documentsOf(t, "f"), service.Apply{By: "ann"}); err != nil &&
		strings.Contains(err.Error(), "quota") {
		t.Errorf("another namespace: %v", err)
	}
}

// slowStore lets others go first before it creates a job.
type slowStore struct{ *webtest.Store }

type slowJobs struct{ engine.Definitions[spec.Job] }

func (s slowStore) Jobs() engine.Definitions[spec.Job] { return slowJobs{s.Store.Jobs()} }

func (j slowJobs) Create(ctx context.Context, job engine.Job) error {
	for range 1000 {
		runtime.Gosched()
	}
	return j.Definitions.Create(ctx, job)
}

func TestRunsBeyondTheQuotaOfQueuedOnesAreRefused(t *testing.T) {
	w := bounded(t, access.Quota{Queued: 10})
	waiting := func(n int) {
		w.Queue.SetEngines(
			engine.EnginePresence{ID: "a", Namespaces: map[string]engine.RunCount{"default": {Waiting: n - 2}, "other": {Waiting: 50}}},
			engine.EnginePresence{ID: "b", Namespaces: map[string]engine.RunCount{"default": {Waiting: 2, Running: 9}}})
		w.Now = w.Now.Add(2 * time.Second)
	}
	w.PutJob(t, `{"name": "j", "binary": "tool@stable", "every": "1h"}`)
	start := func(start service.Start) error {
		start.By = "ann"
		_, _, err := w.Service.StartRun(t.Context(), "default", "j", start)
		return err
	}
	waiting(8)
	for range 2 {
		if err := start(service.Start{}); err != nil {
			t.Fatal(err)
		}
	}
	refusedBy(t, start(service.Start{}), service.KindBusy, "quota_queued") // the two count, though no engine has reported them
	if err := start(service.Start{At: w.Now.Add(time.Hour)}); err != nil {
		t.Errorf("a run that waits for no executor yet: %v", err)
	}
	backfill := func(hours time.Duration) error {
		_, err := w.Service.BackfillJob(t.Context(), "default", "j", w.Now.Add(-hours*time.Hour), w.Now, "ann", false)
		return err
	}
	waiting(4)
	refusedBy(t, backfill(8), service.KindBusy, "quota_queued")
	refusedBy(t, backfill(20), service.KindForbidden, "quota_queued") // it will never fit
	if err := backfill(4); err != nil {
		t.Error(err)
	}
	if usage, err := w.Service.UsageOf(t.Context(), "default"); err != nil || usage.Runs == nil || *usage.Runs != (engine.RunCount{Waiting: 4, Running: 9}) {
		t.Errorf("%+v, %v", usage, err)
	}
	waiting(10)
	refusedBy(t, start(service.Start{}), service.KindBusy, "quota_queued")
	w.Now = w.Now.Add(2 * time.Second)
	w.Queue.Fail(errors.New("it is away"))
	if err := start(service.Start{}); err != nil {
		t.Errorf("while engines cannot be asked: %v", err)
	}
	if usage, err := w.Service.UsageOf(t.Context(), "default"); err != nil || usage.Runs != nil || usage.Jobs != 1 {
		t.Errorf("while engines cannot be asked: %+v, %v", usage, err)
	}
}

func TestSubmitsBeyondTheQuotaAreRefused(t *testing.T) {
	w := bounded(t, access.Quota{SubmitsPerSecond: 3})
	w.PutJob(t, `{"name": "j", "binary": "tool@stable", "every": "1h"}`)
	start := func() error {
		_, _, err := w.Service.StartRun(t.Context(), "default", "j", service.Start{By: "ann"})
		return err
	}
	for range 3 {
		if err := start(); err != nil {
			t.Fatal(err)
		}
	}
	refusedBy(t, start(), service.KindBusy, "quota_submits")
	w.Now = w.Now.Add(time.Second)
	if err := start(); err != nil {
		t.Errorf("a second later: %v", err)
	}
	setQuota(t, w, access.Quota{})
	for range 20 {
		if err := start(); err != nil {
			t.Fatalf("without a quota: %v", err)
		}
	}
}

func TestUploadsBeyondTheQuotaAreRefused(t *testing.T) {
	w := bounded(t, access.Quota{})
	usage, err := w.Service.UsageOf(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	setQuota(t, w, access.Quota{StoredBytes: usage.StoredBytes + 100})
	upload := func(name, content string, size int64) error {
		_, _, _, err := w.Service.UploadBinary(t.Context(), "default", name, strings.NewReader(content), service.Upload{By: "ann", Size: size, AnyPlatform: true})
		return err
	}
	script := func(size int) string { return "#!/bin/sh\n" + strings.Repeat("#", size-10) }
	untouched := func() {
		t.Helper()
		if now, err := w.Service.UsageOf(t.Context(), "default"); err != nil || now.StoredBytes != usage.StoredBytes {
			t.Errorf("%+v, %v", now, err)
		}
	}
	reader := &watchedReader{}
	_, _, _, err = w.Service.UploadBinary(t.Context(), "default", "known", reader, service.Upload{By: "ann", Size: 101})
	refusedBy(t, err, service.KindForbidden, "quota_stored_bytes")
	if reader.read {
		t.Error("what is certainly too large was read")
	}
	endless := &endlessReader{}
	_, _, _, err = w.Service.UploadBinary(t.Context(), "default", "unknown", endless, service.Upload{By: "ann"})
	refusedBy(t, err, service.KindForbidden, "quota_stored_bytes")
	if endless.read > 1<<20 {
		t.Errorf("%d bytes were read of what has no room", endless.read)
	}
	untouched()
	if err := upload("fits", script(100), 100); err != nil {
		t.Fatal(err)
	}
	refusedBy(t, upload("more", script(11), 0), service.KindForbidden, "quota_stored_bytes")
	if err := w.Service.DeleteBinary(t.Context(), "default", "fits"); err != nil {
		t.Fatal(err)
	}
	if err := upload("more", script(11), 0); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// endlessReader ends with a fault, after what no test stores.
type endlessReader struct{ read int }

func (r *endlessReader) Read(p []byte) (int, error) {
	if r.read += len(p); r.read > 1<<24 {
		return 0, errors.New("it was read to the end")
	}
	return copy(p, strings.Repeat("#", len(p))), nil
}

type watchedReader struct{ read bool }

func (r *watchedReader) Read([]byte) (int, error) {
	r.read = true
	return 0, errors.New("it was read")
}

// An admin of the namespace describes it, and does not change what bounds it.
func TestOnlyAnAdminOfAllNamespacesChangesQuotas(t *testing.T) {
	w := bounded(t, access.Quota{Jobs: 3})
	own := access.With(t.Context(), access.Identity{Kind: access.KindUser, Name: "eve", Grants: access.Grants{"default": access.Admin}})
	text := "ours"
	_, err := w.Service.ChangeNamespace(own, "default", service.NamespaceChange{Description: &text, Quota: func(q *access.Quota) { q.Jobs = 0 }})
	refusedBy(t, err, service.KindForbidden, "quota_not_yours")
	after, err := w.Service.ChangeNamespace(own, "default", service.NamespaceChange{Description: &text, Quota: func(*access.Quota) {}})
	if err != nil || after.Description != text || after.Quota != (access.Quota{Jobs: 3}) {
		t.Errorf("%+v, %v", after, err)
	}
}

func TestWhatRunsHaveStoredCountsTowardsTheQuota(t *testing.T) {
	w := bounded(t, access.Quota{})
	before, err := w.Service.UsageOf(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	setQuota(t, w, access.Quota{StoredBytes: before.StoredBytes + 100})
	sums := access.NewRunBytes(w.Store)
	for namespace, bytes := range map[string]int64{"default": 95, "other": 1000} {
		if err := sums.Add(t.Context(), namespace, bytes); err != nil {
			t.Fatal(err)
		}
	}
	if usage, err := w.Service.UsageOf(t.Context(), "default"); err != nil || usage.StoredBytes != before.StoredBytes+95 {
		t.Errorf("%+v, %v", usage, err)
	}
	content := "#!/bin/sh\n" // 10 bytes
	upload := service.Upload{By: "ann", Size: int64(len(content))}
	_, _, _, err = w.Service.UploadBinary(t.Context(), "default", "more", strings.NewReader(content), upload)
	refusedBy(t, err, service.KindForbidden, "quota_stored_bytes")
}
