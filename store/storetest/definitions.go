package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// definitionKind is what a store keeps of jobs, or of DAGs.
type definitionKind[S engine.Spec] struct {
	noun string

	of         func(Store) engine.Definitions[S]
	byUID      func(store Store, ctx context.Context, uids []string) ([]engine.Definition[S], error)
	pending    func(store Store, ctx context.Context, shards []int, limit int) ([]engine.Definition[S], error)
	generation func(store Store, ctx context.Context, uid string, generation int64) (engine.GenerationOf[S], error)

	plain    func(name string) engine.Definition[S]
	full     func() engine.Definition[S] // every field has a value
	describe func(definition *S, words string)
	scribble func(definition *S) // over what the full one refers to
	batch    func(engine.JobHandled) engine.Batch
}

// edit returns the next revision, with another definition.
func (k definitionKind[S]) edit(d engine.Definition[S], description string) engine.Definition[S] {
	k.describe(&d.Spec, description)
	d.Message = "now " + description
	d.Generation++
	d.Revision++
	d.Pending = true
	d.UpdatedAt, d.UpdatedBy = d.UpdatedAt.Add(time.Minute), "grace"
	return d
}

// remove returns a tombstone.
func (k definitionKind[S]) remove(d engine.Definition[S]) engine.Definition[S] {
	d.Revision++
	d.Deleted, d.Pending = true, true
	return d
}

func (k definitionKind[S]) handled(d engine.Definition[S]) engine.Batch {
	return k.batch(engine.JobHandled{UID: d.UID, Namespace: d.Namespace, Name: d.Name, Revision: d.Revision})
}

func (k definitionKind[S]) create(h *harness, d engine.Definition[S]) engine.Definition[S] {
	h.Helper()
	h.must("create "+k.noun+" "+d.Name, k.of(h.store).Create(h.ctx, d))
	return d
}

func (k definitionKind[S]) replace(h *harness, d engine.Definition[S]) engine.Definition[S] {
	h.Helper()
	h.must("replace "+k.noun+" "+d.Name, k.of(h.store).Replace(h.ctx, d))
	return d
}

func (k definitionKind[S]) read(h *harness, name string) engine.Definition[S] {
	h.Helper()
	d, err := k.of(h.store).Get(h.ctx, namespace, name)
	h.must("read "+k.noun+" "+name, err)
	return d
}

func (k definitionKind[S]) isPending(h *harness, want ...engine.Definition[S]) {
	h.Helper()
	found, err := k.pending(h.store, h.ctx, allShards(), 1000)
	h.must("list every pending "+k.noun, err)
	uid := func(d engine.Definition[S]) string { return d.UID }
	same(h.T, "every pending "+k.noun, sorted(found, uid), sorted(want, uid))
}

func (k definitionKind[S]) names(h *harness, filter engine.DefinitionFilter) (names []string) {
	h.Helper()
	for pages := 0; ; pages++ {
		page, next, err := k.of(h.store).List(h.ctx, filter)
		h.must("list every "+k.noun, err)
		if len(page) > filter.Limit || pages > 1000 {
			h.Fatalf("page %d has %d entries for a limit of %d", pages, len(page), filter.Limit)
		}
		for i := range page {
			names = append(names, page[i].Name)
		}
		if next == "" {
			return names
		}
		filter.Cursor = next
	}
}

// promises are those of the definitions of a kind.
func (k definitionKind[S]) promises() []promise {
	return []promise{
		{"a " + k.noun + " comes back as it was written", func(h *harness) {
			full, plain := k.create(h, k.full()), k.create(h, k.plain("plain"))
			same(h.T, "full", k.read(h, k.full().Name), full)
			same(h.T, "plain", k.read(h, "plain"), plain)
			jobs, err := k.byUID(h.store, h.ctx, []string{full.UID, uidOf("nobody")})
			h.must("read by uid", err)
			same(h.T, "by uid", jobs, []engine.Definition[S]{full})
			jobs, err = k.byUID(h.store, h.ctx, nil)
			h.must("read none", err)
			same(h.T, "none", len(jobs), 0)
		}},
		{"a " + k.noun + " in the store is not changed through what was given or read", func(h *harness) {
			given := k.create(h, k.full())
			k.scribble(&given.Spec)
			got := k.read(h, k.full().Name)
			same(h.T, "after its giver changed it", got, k.full())
			k.scribble(&got.Spec)
			same(h.T, "after its reader changed it", k.read(h, k.full().Name), k.full())
		}},
		{"a name is given once", func(h *harness) {
			first := k.create(h, k.plain("report"))
			second := k.plain("report")
			second.UID = uidOf("second")
			if err := k.of(h.store).Create(h.ctx, second); !errors.Is(err, engine.ErrExists) {
				h.Fatalf("got %v", err)
			}
			same(h.T, "job", k.read(h, "report"), first)
			elsewhere := k.plain("report")
			elsewhere.UID, elsewhere.Namespace = uidOf("third"), "other"
			k.create(h, elsewhere)
			same(h.T, "job", k.read(h, "report"), first)
		}},
		{"what is asked of a " + k.noun + " that is not there is not found", func(h *harness) {
			if _, err := k.of(h.store).Get(h.ctx, namespace, "none"); !errors.Is(err, engine.ErrNotFound) {
				h.Fatalf("read: %v", err)
			}
			if err := k.of(h.store).Replace(h.ctx, k.edit(k.plain("none"), "x")); !errors.Is(err, engine.ErrNotFound) {
				h.Fatalf("replace: %v", err)
			}
			if _, err := k.generation(h.store, h.ctx, uidOf("none"), 1); !errors.Is(err, engine.ErrNotFound) {
				h.Fatalf("generation: %v", err)
			}
			generations, err := k.of(h.store).Generations(h.ctx, uidOf("none"), 0, 10)
			h.must("generations", err)
			same(h.T, "generations", len(generations), 0)
		}},
		{"stale write of a " + k.noun + " is refused", func(h *harness) {
			job := k.create(h, k.plain("report"))
			mine := k.replace(h, k.edit(job, "mine"))
			if err := k.of(h.store).Replace(h.ctx, k.edit(job, "theirs")); !errors.Is(err, engine.ErrConflict) {
				h.Fatalf("got %v", err)
			}
			skipping := k.edit(k.edit(k.edit(job, "x"), "y"), "z")
			if err := k.of(h.store).Replace(h.ctx, skipping); !errors.Is(err, engine.ErrConflict) {
				h.Fatalf("got %v", err)
			}
			same(h.T, "job", k.read(h, "report"), mine)
			generations, err := k.of(h.store).Generations(h.ctx, job.UID, 0, 10)
			h.must("generations", err)
			same(h.T, "generations", len(generations), 2)
			same(h.T, "the second", generations[0].Spec, mine.Spec)
		}},
		{"each version of a " + k.noun + " is kept", func(h *harness) {
			job := k.create(h, k.full())
			second := k.replace(h, k.edit(job, "second"))
			paused := second
			paused.Revision, paused.Paused = 3, false
			k.replace(h, paused)
			third := k.replace(h, k.edit(paused, "third"))
			want := []engine.GenerationOf[S]{
				{UID: job.UID, Generation: 3, Spec: third.Spec, By: "grace", At: third.UpdatedAt, Message: "now third"},
				{UID: job.UID, Generation: 2, Spec: second.Spec, By: "grace", At: second.UpdatedAt, Message: "now second"},
				{UID: job.UID, Generation: 1, Spec: job.Spec, By: "ada", At: job.UpdatedAt, Message: job.Message},
			}
			generations, err := k.of(h.store).Generations(h.ctx, job.UID, 0, 10)
			h.must("list", err)
			same(h.T, "generations", generations, want)
			generations, err = k.of(h.store).Generations(h.ctx, job.UID, 0, 2)
			h.must("list", err)
			same(h.T, "two generations", generations, want[:2])
			generations, err = k.of(h.store).Generations(h.ctx, job.UID, 3, 1)
			h.must("list the next page", err)
			same(h.T, "the one below the third", generations, want[1:2])
			generations, err = k.of(h.store).Generations(h.ctx, job.UID, 3, 10)
			h.must("list the rest", err)
			same(h.T, "those below the third", generations, want[1:])
			generations, err = k.of(h.store).Generations(h.ctx, job.UID, 1, 10)
			h.must("list beyond the end", err)
			same(h.T, "those below the first", len(generations), 0)
			one, err := k.generation(h.store, h.ctx, job.UID, 2)
			h.must("read", err)
			same(h.T, "generation 2", one, want[1])
			if _, err := k.generation(h.store, h.ctx, job.UID, 4); !errors.Is(err, engine.ErrNotFound) {
				h.Fatalf("generation 4: %v", err)
			}
		}},
		{k.noun + "s are listed by name, by pages, by namespace and by text", func(h *harness) {
			names := []string{"Zeta", "alpha", "beta-report", "gamma", "Report-one", "a_b", "axb"}
			for _, name := range names {
				k.create(h, k.plain(name))
			}
			elsewhere := k.plain("elsewhere")
			elsewhere.Namespace = "other"
			k.create(h, elsewhere)
			k.create(h, k.plain("buried"))
			k.replace(h, k.remove(k.plain("buried")))
			slices.Sort(names)
			same(h.T, "by pages of 2", k.names(h, engine.DefinitionFilter{Namespace: namespace, Limit: 2}), names)
			same(h.T, "at once", k.names(h, engine.DefinitionFilter{Namespace: namespace, Limit: 1000}), names)
			same(h.T, "other namespace", k.names(h, engine.DefinitionFilter{Namespace: "other", Limit: 2}), []string{"elsewhere"})
			same(h.T, "text", k.names(h, engine.DefinitionFilter{Namespace: namespace, Text: "rEPORT", Limit: 1}), []string{"Report-one", "beta-report"})
			same(h.T, "text that looks like a pattern", k.names(h, engine.DefinitionFilter{Namespace: namespace, Text: "a_b", Limit: 10}), []string{"a_b"})
			everywhere := k.names(h, engine.DefinitionFilter{Limit: 3})
			slices.Sort(everywhere)
			want := append(slices.Clone(names), "elsewhere")
			slices.Sort(want)
			same(h.T, "everywhere", everywhere, want)
			for _, cursor := range []string{"x", "!!!", strings.Repeat("z", 300)} {
				_, _, err := k.of(h.store).List(h.ctx, engine.DefinitionFilter{Limit: 5, Cursor: cursor})
				h.badCursor("list of every "+k.noun, cursor, err)
			}
		}},
		{k.noun + "s of a namespace are counted without those that are deleted", func(h *harness) {
			count := func(namespace string) int64 {
				n, err := k.of(h.store).Count(h.ctx, namespace)
				h.must("count "+k.noun+"s", err)
				return n
			}
			kept, gone, other := k.create(h, k.plain("kept")), k.create(h, k.plain("gone")), k.plain("kept")
			other.Namespace, other.UID = namespace+"2", "other"+kept.UID[5:]
			k.create(h, other)
			k.replace(h, k.remove(gone))
			same(h.T, "counts", []int64{count(namespace), count(namespace + "2"), count("none")}, []int64{1, 1, 0})
		}},
		{"pending " + k.noun + "s are those that the engine has not acted upon", func(h *harness) {
			one, two := k.create(h, k.plain("one")), k.create(h, k.plain("two"))
			k.isPending(h, one, two)
			jobs, err := k.pending(h.store, h.ctx, []int{one.Shard}, 1000)
			h.must("list", err)
			for _, job := range jobs {
				same(h.T, "shard", job.Shard, one.Shard)
			}
			jobs, err = k.pending(h.store, h.ctx, allShards(), 1)
			h.must("list", err)
			same(h.T, "of a limit of 1", len(jobs), 1)
			h.commit(k.handled(one))
			k.isPending(h, two)
			one.Pending = false
			same(h.T, "job", k.read(h, "one"), one)
			k.isPending(h, two, k.replace(h, k.edit(one, "x")))
		}},
		{"pending is cleared only at the revision handled", func(h *harness) {
			job := k.create(h, k.plain("report"))
			edited := k.replace(h, k.edit(job, "meanwhile"))
			h.commit(k.handled(job))
			k.isPending(h, edited)
			h.commit(k.handled(k.edit(edited, "not yet there")))
			k.isPending(h, edited)
			h.commit(k.handled(edited))
			k.isPending(h)
			edited.Pending = false
			same(h.T, "job", k.read(h, "report"), edited)
			k.replace(h, k.edit(edited, "the revision has not moved"))
		}},
		{"a tombstone is pending until it is handled, and then gone with its generations", func(h *harness) {
			job := k.create(h, k.plain("report"))
			tomb := k.replace(h, k.remove(job))
			k.isPending(h, tomb)
			if _, err := k.of(h.store).Get(h.ctx, namespace, "report"); !errors.Is(err, engine.ErrNotFound) {
				h.Fatalf("a deleted job: %v", err)
			}
			jobs, err := k.byUID(h.store, h.ctx, []string{job.UID})
			h.must("read", err)
			same(h.T, "tombstone", jobs, []engine.Definition[S]{tomb})
			_, err = k.generation(h.store, h.ctx, job.UID, 1)
			h.must("generation of a tombstone", err)
			h.commit(k.handled(job)) // of the revision before: changes nothing
			k.isPending(h, tomb)
			h.commit(k.handled(tomb))
			h.commit(k.handled(tomb))
			k.isPending(h)
			jobs, err = k.byUID(h.store, h.ctx, []string{job.UID})
			h.must("read", err)
			same(h.T, "jobs", len(jobs), 0)
			if _, err := k.generation(h.store, h.ctx, job.UID, 1); !errors.Is(err, engine.ErrNotFound) {
				h.Fatalf("generation of what is gone: %v", err)
			}
			if err := k.of(h.store).Replace(h.ctx, k.edit(tomb, "x")); !errors.Is(err, engine.ErrNotFound) {
				h.Fatalf("replace what is gone: %v", err)
			}
		}},
		{"tombstone frees the name", func(h *harness) {
			tomb := k.replace(h, k.remove(k.create(h, k.plain("report"))))
			next := k.plain("report")
			next.UID = uidOf("second")
			next.Shard = engine.ShardOf(next.UID)
			k.create(h, next)
			same(h.T, "job", k.read(h, "report"), next)
			same(h.T, "names", k.names(h, engine.DefinitionFilter{Namespace: namespace, Limit: 10}), []string{"report"})
			third := k.plain("report")
			third.UID = uidOf("third")
			if err := k.of(h.store).Create(h.ctx, third); !errors.Is(err, engine.ErrExists) {
				h.Fatalf("a third of the name: %v", err)
			}
			h.commit(k.handled(tomb)) // must not touch the new job
			same(h.T, "job", k.read(h, "report"), next)
			h.commit(k.handled(next))
			_, err := k.generation(h.store, h.ctx, next.UID, 1)
			h.must("generation", err)
			next.Pending = false
			k.replace(h, k.edit(next, "x"))
		}},
		{"a tombstone whose name is another's is kept by its uid until it is handled", func(h *harness) {
			var tombs []engine.Definition[S]
			for _, word := range []string{"first", "second", "third"} {
				job := k.plain("report")
				job.UID = uidOf(word)
				job.Shard = engine.ShardOf(job.UID)
				job = k.create(h, job)
				job = k.replace(h, k.edit(job, "again"))
				tombs = append(tombs, k.replace(h, k.remove(job)))
			}
			next := k.plain("report")
			next.UID = uidOf("living")
			next.Shard = engine.ShardOf(next.UID)
			next = k.create(h, next)

			uid := func(job engine.Definition[S]) string { return job.UID }
			kept := func(want ...engine.Definition[S]) {
				h.Helper()
				k.isPending(h, append(want, next)...)
				jobs, err := k.byUID(h.store, h.ctx, []string{tombs[0].UID, tombs[1].UID, tombs[2].UID})
				h.must("read by uid", err)
				same(h.T, "tombstones", sorted(jobs, uid), sorted(want, uid))
			}
			kept(tombs...)
			jobs, err := k.pending(h.store, h.ctx, []int{tombs[0].Shard}, 1000)
			h.must("list", err)
			if !slices.ContainsFunc(jobs, func(job engine.Definition[S]) bool { return job.UID == tombs[0].UID }) {
				h.Fatalf("shard %d has no tombstone of its own", tombs[0].Shard)
			}
			jobs, err = k.pending(h.store, h.ctx, allShards(), 2)
			h.must("list", err)
			same(h.T, "of a limit of 2", len(jobs), 2)
			generations, err := k.of(h.store).Generations(h.ctx, tombs[1].UID, 0, 10)
			h.must("generations of a tombstone", err)
			same(h.T, "generations of a tombstone", len(generations), 2)
			one, err := k.generation(h.store, h.ctx, tombs[1].UID, tombs[1].Generation)
			h.must("generation of a tombstone", err)
			same(h.T, "generation of a tombstone", one.Spec, tombs[1].Spec)

			before := tombs[1]
			before.Revision--
			h.commit(k.handled(before)) // changes nothing
			kept(tombs...)
			h.commit(k.handled(tombs[1]))
			h.commit(k.handled(tombs[1]))
			kept(tombs[0], tombs[2])
			for generation := range int64(2) {
				if _, err := k.generation(h.store, h.ctx, tombs[1].UID, generation+1); !errors.Is(err, engine.ErrNotFound) {
					h.Fatalf("generation %d of what is gone: %v", generation+1, err)
				}
			}
			if _, err := k.generation(h.store, h.ctx, tombs[0].UID, 1); err != nil {
				h.Fatalf("generation of what is still there: %v", err)
			}
			h.commit(k.handled(tombs[0]))
			h.commit(k.handled(tombs[2]))
			kept()
			same(h.T, "job", k.read(h, "report"), next)
		}},
		{"a deleted " + k.noun + " cannot be written under its old uid once the name is another's", func(h *harness) {
			tomb := k.replace(h, k.remove(k.create(h, k.plain("report"))))
			next := k.plain("report")
			next.UID = uidOf("second")
			k.create(h, next)
			h.commit(k.handled(tomb))
			if err := k.of(h.store).Replace(h.ctx, k.edit(tomb, "from the grave")); !errors.Is(err, engine.ErrNotFound) {
				h.Fatalf("got %v", err)
			}
			same(h.T, "job", k.read(h, "report"), next)
		}},
	}
}
