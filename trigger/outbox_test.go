package trigger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/store/memory"
	"github.com/tidewheel/tidewheel/trigger"
)

// world is a store with definitions, and what was started of them.
type world struct {
	t      *testing.T
	store  *memory.Store
	book   *trigger.Book
	outbox *trigger.Outbox
	at     map[int]engine.Term
	next   map[int]uint64

	mu          sync.Mutex
	definitions map[string]trigger.Definition // by namespace/name
	starts      []string                      // definition and event
	refused     []string
	payloads    map[string]string
	busy        error  // what Start returns
	before      func() // what happens once, before a definition is read
}

func newWorld(t *testing.T) *world {
	store := memory.New()
	book := trigger.NewBook(store, time.Now)
	return &world{
		t: t, store: store, book: book, outbox: trigger.NewOutbox(book), at: map[int]engine.Term{}, next: map[int]uint64{},
		definitions: map[string]trigger.Definition{}, payloads: map[string]string{},
	}
}

// define saves a definition as the service does.
func (w *world) define(namespace, name string, dag bool, triggers *spec.Triggers) {
	w.t.Helper()
	if upstreams := triggers.Upstreams(namespace); len(upstreams) > 0 {
		if err := w.book.Follow(w.t.Context(), namespace, name, upstreams); err != nil {
			w.t.Fatal(err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.definitions[namespace+"/"+name] = trigger.Definition{UID: uid(namespace, name), DAG: dag, Triggers: triggers}
}

func uid(namespace, name string) string { return namespace + "-" + name }

func (w *world) Triggered(_ context.Context, namespace, name string) (trigger.Definition, error) {
	if before := w.before; before != nil {
		w.before = nil
		before()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	definition, known := w.definitions[namespace+"/"+name]
	if !known {
		return definition, engine.ErrNotFound
	}
	return definition, nil
}

func (w *world) Start(_ context.Context, namespace, name string, event trigger.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy != nil {
		return w.busy
	}
	started := namespace + "/" + name + " " + event.By + " " + event.ID
	if !slices.Contains(w.starts, started) { // the service's part: the id of the run is derived from Key
		w.starts = append(w.starts, started)
	}
	w.payloads[started] = string(event.Payload)
	return nil
}

func (w *world) Refuse(_ context.Context, namespace, name string, _ trigger.Event, reason string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = append(w.refused, namespace+"/"+name+": "+reason)
	return nil
}

func (w *world) started() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.starts, "; ")
}

// commit lets runs of a job end through a committer, in the shard of its own.
func (w *world) commit(store trigger.Committer, namespace, name string, status engine.Status, ids ...string) error {
	w.t.Helper()
	of := uid(namespace, name)
	shard := engine.ShardOf(of)
	if _, taken := w.at[shard]; !taken {
		term, err := w.store.Take(w.t.Context(), shard, "engine")
		if err != nil {
			w.t.Fatal(err)
		}
		w.at[shard], w.next[shard] = term, term.Position+1
	}
	batch := &engine.Batch{}
	for _, id := range ids {
		batch.Runs = append(batch.Runs, engine.Run{
			ID: id, Revision: 1, Namespace: namespace, JobUID: of, Job: name, Shard: shard, Trigger: engine.TriggerManual, Status: status,
			CreatedAt: time.Now().UTC(), FinishedAt: time.Now().UTC(),
		})
	}
	err := w.outbox.Commit(w.t.Context(), store, []engine.ShardCommit{{Shard: shard, Term: w.at[shard].Number, Position: w.next[shard], Batch: batch}})[0]
	if err == nil {
		w.next[shard]++
	}
	return err
}

func (w *world) watch(ctx context.Context) *sync.WaitGroup {
	var work sync.WaitGroup
	work.Go(func() {
		if err := trigger.NewWatcher(w.outbox, w.store, w, slog.New(slog.NewTextHandler(w.t.Output(), nil))).Run(ctx); err != nil {
			w.t.Error(err)
		}
	})
	return &work
}

// noted counts the records of successes.
func (w *world) noted() int {
	records, err := w.store.Records(w.t.Context(), engine.RecordFilter{Kind: "trigger-success", Limit: 1000})
	if err != nil {
		w.t.Fatal(err)
	}
	return len(records)
}

func after(upstreams ...string) *spec.Triggers { return &spec.Triggers{AfterSuccess: upstreams} }

func TestSuccessStartsWhatFollowsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.define("default", "etl", false, nil)
		w.define("default", "report", true, after("etl"))
		ctx, stop := context.WithCancel(t.Context())
		work := w.watch(ctx)
		defer func() { stop(); work.Wait() }()
		<-time.After(time.Minute) // the definitions are old
		if err := w.commit(w.store, "default", "etl", engine.StatusSucceeded, "r1", "r2"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // and no tick
		if got := w.started(); got != "default/report after etl r1; default/report after etl r2" {
			t.Errorf("started %q", got)
		}
		var payload map[string]string
		if err := json.Unmarshal([]byte(w.payloads["default/report after etl r1"]), &payload); err != nil || payload["run"] != "r1" || payload["job"] != "etl" {
			t.Errorf("payload %v, %v", w.payloads, err)
		}
		if err := w.commit(w.store, "default", "etl", engine.StatusFailed, "r3"); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if got := w.started(); strings.Contains(got, "r3") || w.noted() != 0 {
			t.Errorf("started %q, %d are left", got, w.noted())
		}
	})
}

// lost is a store whose commits are done, or not, and say that nothing is known.
type lost struct {
	trigger.Committer
	done bool
}

func (l lost) Commit(ctx context.Context, commits []engine.ShardCommit) []error {
	if l.done {
		l.Committer.Commit(ctx, commits)
	}
	return slices.Repeat([]error{errors.New("no answer")}, len(commits))
}

// The engine dies right after its commit, whose answer it never saw, or right before it. The next engine finds what there is to start.
func TestSuccessOutlivesTheEngine(t *testing.T) {
	for _, done := range []bool{true, false} {
		t.Run(fmt.Sprintf("committed %t", done), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.define("default", "etl", false, nil)
				w.define("default", "report", false, after("etl"))
				if err := w.commit(lost{w.store, done}, "default", "etl", engine.StatusSucceeded, "r1"); err == nil {
					t.Fatal("the commit has an answer")
				}
				<-time.After(10 * time.Minute) // longer than the history is looked at
				w.outbox = trigger.NewOutbox(w.book)
				ctx, stop := context.WithCancel(t.Context())
				work := w.watch(ctx)
				defer func() { stop(); work.Wait() }()
				synctest.Wait()
				if got := w.started(); (got == "default/report after etl r1") != done {
					t.Fatalf("started %q", got)
				}
				if done {
					return
				}
				if err := w.commit(w.store, "default", "etl", engine.StatusSucceeded, "r1"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if got := w.started(); got != "default/report after etl r1" {
					t.Errorf("started %q", got)
				}
			})
		})
	}
}

// A success that cannot be written down is not committed, so it cannot be lost.
func TestNothingIsCommittedThatCannotBeWrittenDown(t *testing.T) {
	w := newWorld(t)
	w.define("default", "etl", false, nil)
	w.define("default", "report", false, after("etl"))
	full := failing{w.store}
	w.outbox = trigger.NewOutbox(trigger.NewBook(full, time.Now))
	if err := w.commit(w.store, "default", "etl", engine.StatusSucceeded, "r1"); err == nil {
		t.Fatal("it was committed")
	}
	if runs, err := w.store.RunsByID(t.Context(), []string{"r1"}); err != nil || len(runs) > 0 {
		t.Errorf("%v, %v", runs, err)
	}
}

type failing struct{ *memory.Store }

func (failing) InsertRecord(context.Context, engine.Record) error { return errors.New("no room") }

// An engine that has not heard of a follower yet writes nothing down; the history is looked at then.
func TestSuccessBeforeTheEngineKnowsStartsWhatFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.define("default", "etl", false, nil)
		w.define("default", "other", false, after("other-upstream"))
		ctx, stop := context.WithCancel(t.Context())
		work := w.watch(ctx)
		defer func() { stop(); work.Wait() }()
		synctest.Wait() // the engine has read who follows whom
		if err := w.commit(w.store, "default", "etl", engine.StatusSucceeded, "before"); err != nil {
			t.Fatal(err)
		}
		<-time.After(100 * time.Millisecond)
		w.define("default", "report", false, after("etl"))
		<-time.After(100 * time.Millisecond)
		if err := w.commit(w.store, "default", "etl", engine.StatusSucceeded, "after"); err != nil {
			t.Fatal(err)
		}
		if w.noted() != 0 {
			t.Fatal("the engine knew")
		}
		<-time.After(3 * time.Second)
		if got := w.started(); got != "default/report after etl after" {
			t.Errorf("started %q", got)
		}
	})
}

func TestOtherNamespaceIsFollowedByPermissionOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.define("sales", "orders", false, &spec.Triggers{AllowAfter: []string{"reporting"}})
		w.define("reporting", "report", false, after("sales/orders"))
		ctx, stop := context.WithCancel(t.Context())
		work := w.watch(ctx)
		defer func() { stop(); work.Wait() }()
		<-time.After(time.Minute)
		if err := w.commit(w.store, "sales", "orders", engine.StatusSucceeded, "r1"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w.define("sales", "orders", false, nil) // not any more
		if err := w.commit(w.store, "sales", "orders", engine.StatusSucceeded, "r2"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := w.started(); got != "reporting/report after sales/orders r1" {
			t.Errorf("started %q", got)
		}
		if len(w.refused) != 1 || !strings.Contains(w.refused[0], "does not allow the namespace reporting") || w.noted() != 0 {
			t.Errorf("refused %q, %d are left", w.refused, w.noted())
		}
	})
}

// What the server has no room for now starts later; an edit in between counts.
func TestStartIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.define("default", "etl", false, nil)
		w.define("default", "report", false, after("etl"))
		w.define("default", "mail", false, after("etl"))
		w.busy = errors.New("too many runs wait")
		ctx, stop := context.WithCancel(t.Context())
		work := w.watch(ctx)
		defer func() { stop(); work.Wait() }()
		<-time.After(time.Minute)
		if err := w.commit(w.store, "default", "etl", engine.StatusSucceeded, "r1"); err != nil {
			t.Fatal(err)
		}
		<-time.After(3 * time.Hour)
		w.define("default", "mail", false, nil)
		w.mu.Lock()
		w.busy = nil
		w.mu.Unlock()
		<-time.After(2 * time.Second)
		if got := w.started(); got != "default/report after etl r1" {
			t.Errorf("started %q", got)
		}
	})
}

func TestSignatureBelongsToOneID(t *testing.T) {
	book := trigger.NewBook(memory.New(), time.Now)
	for _, step := range []struct {
		id   string
		want error
	}{{"a", nil}, {"a", nil}, {"b", trigger.ErrReplayed}, {"a", nil}} {
		delivery, err := trigger.ReadDelivery(github(key, step.id, body))
		if err != nil {
			t.Fatal(err)
		}
		if started, err := book.Remember(t.Context(), "default", "hooked", &delivery); !errors.Is(err, step.want) || started != "" {
			t.Errorf("%s: %q, %v", step.id, started, err)
		}
	}
}

// What a delivery has started is known for as long as its signature is, also where an earlier version remembered the delivery.
func TestDeliveryThatHasStartedStartsNothingMore(t *testing.T) {
	store := memory.New()
	book := trigger.NewBook(store, time.Now)
	for _, before := range []string{"", `"a"`} {
		name := "hooked" + before[:min(1, len(before))]
		delivery, err := trigger.ReadDelivery(github(key, "a", body))
		if err != nil {
			t.Fatal(err)
		}
		if before != "" {
			record := engine.Record{Kind: "trigger-signature", Key: "default/" + name + "/" + delivery.Signature, Revision: 1, Data: []byte(before), ExpiresAt: time.Now().Add(time.Hour)}
			if err := store.InsertRecord(t.Context(), record); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []string{"", "run", "run"} {
			started, err := book.Remember(t.Context(), "default", name, &delivery)
			if err == nil {
				err = book.RememberStarted(t.Context(), "default", name, &delivery, []string{"run", "other", "other"}[i])
			}
			if err != nil || started != want {
				t.Errorf("%s, time %d: %q, %v", name, i, started, err)
			}
		}
	}
}
