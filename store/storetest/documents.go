package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tidewheel/tidewheel/engine"
)

// Documents is how all that a store holds is moved to another.
type Documents interface {
	// View calls read with pages of all documents, each once and whole, in an order of the store's own.
	View(ctx context.Context, read func(engine.DocumentPages) error) error
	// PutDocuments puts documents into their places as they are, over existing ones, while no other process writes.
	// Definitions come before their generations.
	PutDocuments(ctx context.Context, documents []engine.Document) error
	// DropDocuments removes a whole collection.
	DropDocuments(ctx context.Context, of engine.Collection) error
}

// documents reads all that the store holds, by collection and id.
func (h *harness) documents(limit int) map[string]engine.Document {
	h.Helper()
	all := map[string]engine.Document{}
	h.must("view", h.store.View(h.ctx, func(pages engine.DocumentPages) error {
		for _, of := range engine.Collections() {
			for from, count := "", 0; ; count++ {
				page, next, err := pages(of, from, limit)
				if err != nil {
					return err
				}
				if len(page) > limit || count > 10_000 {
					return fmt.Errorf("page %d of %s has %d documents for a limit of %d", count, of, len(page), limit)
				}
				for _, document := range page {
					collection, id := document.Place()
					place := string(collection) + " " + id
					if collection != of || all[place] != nil {
						return fmt.Errorf("%s is among %s, or there twice", place, of)
					}
					all[place] = document
				}
				if next == "" {
					break
				}
				from = next
			}
		}
		return nil
	}))
	return all
}

// seedStore fills a store with documents of every kind.
func seedStore(h *harness) (jobs []engine.Job) {
	h.Helper()
	jobs, batch := scene(h)
	h.commit(batch)
	full := h.createJob(fullJob())
	edited := edit(full, "again")
	edited.Source = sources[0]
	h.replaceJob(edited)
	h.createDAG(fullDAG())
	h.commitRuns(fullRun(full))
	for _, command := range startCommands() {
		h.must("put", h.store.PutCommand(h.ctx, command))
	}
	lives := finished(full, noon.Add(-5*60e9), engine.StatusDead)
	h.live(lives)
	again := lives[3].Clone() // ended, and is resumed
	again.Revision++
	again.Status, again.RetryAt = engine.StatusRetrying, noon
	h.commitRuns(again)
	h.putTasks(fullTask(full))
	h.createBinary(aBinary("report"))
	h.must("insert", h.store.InsertEffect(h.ctx, done(anEffect(again.ID, "charge"), `{"a":  1}`)))
	h.must("insert", h.store.InsertRecord(h.ctx, aRecord("user", "ada")))
	_, err := h.store.SharedKey(h.ctx, "run-token", []byte{0, 0xff, 'k'})
	h.must("keep a key", err)
	// A tombstone whose name is another's, and one that still has its own.
	for _, word := range []string{"first", "second"} {
		job := aJob("reused")
		job.UID = uidOf(word)
		job.Shard = engine.ShardOf(job.UID)
		h.replaceJob(remove(h.createJob(job)))
	}
	return append(jobs, full)
}

var documentPromises = []promise{
	{"every document is given once, however small the pages are", func(h *harness) {
		jobs := seedStore(h)
		all := h.documents(1000)
		counts := map[engine.Collection]int{}
		for place, document := range all {
			collection, id := document.Place()
			counts[collection]++
			if place != string(collection)+" "+id {
				h.Fatalf("%s is %s %s", place, collection, id)
			}
		}
		for _, of := range engine.Collections() {
			if counts[of] == 0 {
				h.Errorf("nothing of %s", of)
			}
		}
		same(h.T, "number of runs", counts[engine.CollectionRuns], len(h.state(jobs...).Runs))
		for _, limit := range []int{1, 3} {
			same(h.T, fmt.Sprintf("by pages of %d", limit), h.documents(limit), all)
		}
		same(h.T, "the full job", all["jobs "+fullJob().UID], engine.Document(h.job("full")))
		version, err := h.store.Generation(h.ctx, fullJob().UID, 1)
		h.must("generation", err)
		same(h.T, "its first version", all["generations "+fullJob().UID+"-g1"], engine.Document(version))
		version, err = h.store.Generation(h.ctx, fullJob().UID, 2)
		h.must("generation", err)
		same(h.T, "its current version", all["generations "+fullJob().UID+"-g2"], engine.Document(version))
	}},
	{"documents put into an empty store are what they were", func(h *harness) {
		jobs := seedStore(h)
		before, all := h.state(jobs...), h.documents(1000)
		for _, of := range engine.Collections() {
			h.must("drop", h.store.DropDocuments(h.ctx, of))
		}
		same(h.T, "what is left", len(h.documents(10)), 0)
		same(h.T, "state of an empty store", h.state(jobs...), state{})
		for range 2 { // putting again changes nothing
			for _, of := range engine.Collections() {
				var some []engine.Document
				for place, document := range all {
					if strings.HasPrefix(place, string(of)+" ") {
						some = append(some, document)
					}
				}
				h.must("put "+string(of), h.store.PutDocuments(h.ctx, some))
			}
			same(h.T, "documents", h.documents(100), all)
			same(h.T, "state", h.state(jobs...), before)
		}
		// The store works as before.
		for _, run := range before.Active {
			if run.Status == engine.StatusScheduled {
				h.commitRuns(queued(run))
			}
		}
		full := h.job("full")
		h.replaceJob(edit(full, "third"))
		generations, err := h.store.Jobs().Generations(h.ctx, full.UID, 0, 10)
		h.must("generations", err)
		same(h.T, "generations", len(generations), 3)
		for generation := range int64(2) {
			_, err := h.store.Generation(h.ctx, full.UID, generation+1)
			h.must("generation", err)
		}
		reused := aJob("reused")
		reused.UID = uidOf("third")
		reused.Shard = engine.ShardOf(reused.UID)
		h.createJob(reused)
		h.commit(engine.Batch{Handled: []engine.JobHandled{
			{UID: uidOf("first"), Namespace: namespace, Name: "reused", Revision: 2}, {UID: uidOf("second"), Namespace: namespace, Name: "reused", Revision: 2},
		}})
		left, err := h.store.JobsByUID(h.ctx, []string{uidOf("first"), uidOf("second"), uidOf("third")})
		h.must("read", err)
		same(h.T, "jobs of the name", left, []engine.Job{reused})
		key, err := h.store.SharedKey(h.ctx, "run-token", []byte("fresh"))
		h.must("key", err)
		same(h.T, "key", key, []byte{0, 0xff, 'k'})
	}},
	{"a document is put over what stands in its place", func(h *harness) {
		job := aJob("report")
		lives := finished(job, noon, engine.StatusSucceeded)
		for _, at := range []int{3, 1, 2, 0, 3} { // back and forth between what has ended and what has not
			h.must("put", h.store.PutDocuments(h.ctx, []engine.Document{lives[at]}))
			same(h.T, "run", h.run(lives[at].ID), lives[at])
			same(h.T, "history", h.history(engine.RunFilter{}), lives[at:at+1])
			active, err := h.store.ActiveRuns(h.ctx, allShards(), "", 10)
			h.must("active", err)
			same(h.T, "active", len(active), map[bool]int{true: 0, false: 1}[lives[at].Status.Terminal()])
		}
		h.must("put", h.store.PutDocuments(h.ctx, []engine.Document{job}))
		other := edit(job, "other")
		h.must("put", h.store.PutDocuments(h.ctx, []engine.Document{other}))
		same(h.T, "job", h.job("report"), other)
		task := aTask(job, noon)
		h.must("put", h.store.PutDocuments(h.ctx, []engine.Document{task}))
		task.Revision, task.RunAt = 9, noon.Add(60e9)
		h.must("put", h.store.PutDocuments(h.ctx, []engine.Document{task}))
		tasks, err := h.store.TasksByID(h.ctx, []string{task.ID})
		h.must("task", err)
		same(h.T, "task", tasks, []engine.ScheduledTask{task})
	}},
	{"no document is too many for a page, and none is too large", func(h *harness) {
		for n := range 70 { // together larger than a page may be
			job := aJob(numbered("large", n))
			job.Source = strings.Repeat("# 0123456789 ä\n", 16_000)
			h.createJob(job)
		}
		same(h.T, "jobs and their versions", len(h.documents(1000)), 140)
	}},
}

// RunSeededStore passes a store with documents of every kind to a test, and closes it afterwards.
func RunSeededStore(t *testing.T, open func(t *testing.T) Store, then func(t *testing.T, full Store)) {
	store := open(t)
	t.Cleanup(func() {
		if err := store.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	seedStore(newHarness(t, store))
	then(t, store)
}
