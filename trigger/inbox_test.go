package trigger_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/trigger"
)

// buckets hold objects by bucket and key.
type buckets struct {
	objects map[string]trigger.Object
	err     error
}

func (b *buckets) put(key string, at time.Time) {
	b.objects[key] = trigger.Object{Bucket: "incoming", Key: key, ETag: "e", Modified: at}
}

func (b *buckets) Objects(_ context.Context, bucket, prefix string, limit int) (found []trigger.Object, _ error) {
	for key, object := range b.objects {
		if strings.HasPrefix(key, prefix) && bucket == "incoming" {
			found = append(found, object)
		}
	}
	slices.SortFunc(found, func(a, b trigger.Object) int { return strings.Compare(a.Key, b.Key) })
	return found[:min(len(found), limit)], b.err
}

// inboxWorld has a definition that waits for objects under orders/ since an instant.
func inboxWorld(t *testing.T, since time.Time) (*world, *buckets, *trigger.Inboxes) {
	t.Helper()
	w, b := newWorld(t), &buckets{objects: map[string]trigger.Object{}}
	w.book = trigger.NewBook(w.store, func() time.Time { return since })
	if err := w.book.Watch(t.Context(), "shop", "load", "incoming", "orders/", false); err != nil {
		t.Fatal(err)
	}
	w.define("shop", "load", false, &spec.Triggers{Objects: &spec.ObjectsTrigger{Bucket: "incoming", Prefix: "orders/"}})
	return w, b, trigger.NewInboxes(w.book, b, w, slog.New(slog.DiscardHandler))
}

// keys are those of the objects that have started something, in order.
func (w *world) keys() (keys []string) {
	for _, started := range w.starts {
		keys = append(keys, strings.Fields(started)[2])
	}
	return keys
}

func TestObjectStartsOneRunWhenItAppears(t *testing.T) {
	saved := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	w, b, inboxes := inboxWorld(t, saved)
	b.put("orders/old", saved.Add(-time.Hour))
	b.put("orders/b", saved.Add(2*time.Second))
	b.put("orders/c", saved.Add(time.Second))
	b.put("returns/x", saved.Add(time.Second))
	look := func(want ...string) {
		t.Helper()
		for range 2 { // the second time there is nothing new
			if err := inboxes.Look(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := w.keys(); !slices.Equal(got, want) {
			t.Errorf("started %q, want %q", got, want)
		}
	}
	look("orders/c", "orders/b")
	if payload := w.payloads[w.starts[0]]; !strings.Contains(payload, `"event":"objects","bucket":"incoming","key":"orders/c"`) {
		t.Errorf("payload %s", payload)
	}

	// One that cannot start yet is retried.
	b.put("orders/d", saved.Add(time.Minute))
	w.busy = errors.New("too much waits")
	look("orders/c", "orders/b")
	w.busy = nil
	look("orders/c", "orders/b", "orders/d")

	// One that is older than what was seen counts as well, as do one that is written again and one that was away; another engine continues.
	b.put("orders/late", saved.Add(-24*time.Hour))
	b.put("orders/b", saved.Add(time.Hour))
	inboxes = trigger.NewInboxes(w.book, b, w, slog.New(slog.DiscardHandler))
	look("orders/c", "orders/b", "orders/d", "orders/late", "orders/b")
	delete(b.objects, "orders/d")
	look("orders/c", "orders/b", "orders/d", "orders/late", "orders/b")
}

func TestInboxSaysOnceWhyItStartsNothing(t *testing.T) {
	saved := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	w, b, inboxes := inboxWorld(t, saved)
	b.err = errors.New("there is no bucket incoming")
	for range 3 {
		if err := inboxes.Look(t.Context()); err == nil {
			t.Error("no error")
		}
	}
	b.err = nil
	for i := range trigger.MostObjects + 1 {
		b.put(fmt.Sprintf("orders/%06d", i), saved.Add(-time.Hour))
	}
	for range 2 {
		if err := inboxes.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.refused) != 2 || !strings.Contains(w.refused[0], "no bucket") || !strings.Contains(w.refused[1], "more than 10000") || len(w.starts) > 0 {
		t.Errorf("refused %q, and started %d", w.refused, len(w.starts))
	}
	w.define("shop", "load", false, nil)
	b.put("orders/new", saved.Add(time.Hour))
	if err := inboxes.Look(t.Context()); err != nil || len(w.starts) > 0 {
		t.Errorf("without the trigger: %v, started %q", err, w.starts)
	}
}

// A trigger that is removed and put back restarts, however soon: what appeared between starts nothing, what comes later does.
func TestObjectsCreatedWhileTheTriggerIsDeletedStartNothing(t *testing.T) {
	saved := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	w, b, inboxes := inboxWorld(t, saved)
	look := func(want ...string) {
		t.Helper()
		if err := inboxes.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.keys(); !slices.Equal(got, want) {
			t.Errorf("started %q, want %q", got, want)
		}
	}
	watch := func(at time.Time, again bool) {
		t.Helper()
		if err := trigger.NewBook(w.store, func() time.Time { return at }).Watch(t.Context(), "shop", "load", "incoming", "orders/", again); err != nil {
			t.Fatal(err)
		}
		w.define("shop", "load", false, &spec.Triggers{Objects: &spec.ObjectsTrigger{Bucket: "incoming", Prefix: "orders/"}})
	}
	b.put("orders/a", saved.Add(time.Second))
	look("orders/a")
	w.define("shop", "load", false, nil)
	b.put("orders/between", saved.Add(time.Minute))
	look("orders/a")

	// The engine has read its list of inboxes before the trigger is put back, and the definition after it.
	w.before = func() { watch(saved.Add(2*time.Minute), false) }
	look("orders/a")
	b.put("orders/later", saved.Add(3*time.Minute))
	look("orders/a", "orders/later")

	// Another edit of the definition changes nothing.
	b.put("orders/more", saved.Add(4*time.Minute))
	watch(saved.Add(5*time.Minute), true)
	look("orders/a", "orders/later", "orders/more")
}
