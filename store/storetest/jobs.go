package storetest

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// fullJob fills every field of a definition that a store might treat in its own way.
func fullJob() engine.Job {
	job := aJob("full")
	at, until := noon.Add(time.Hour), noon.Add(48*time.Hour)
	job.Spec = spec.Job{
		Kind: spec.KindJob, Name: "full", Description: "«Bericht» 世界 🌊 <b>&</b>\nsecond line", Binary: "report@7", Interpreter: "python3",
		Args: []string{"--a", "", "b c"}, Env: map[string]string{"A.B": "1", "$C": "", "ä": "ö"}, Secrets: map[string]string{"PASSWORD": "db"},
		Payload:  json.RawMessage(`{"html":"<b>&</b>","big":12345678901234567890,"list":[1,2,{"$set":{"a.b":null}}]}`),
		Schedule: spec.Strings{"0 2 * * *", "30 3 * * 1"}, Every: spec.Duration(90 * time.Second), After: spec.Duration(time.Nanosecond), At: &at,
		Timezone: "Europe/Berlin", Active: &spec.Window{From: &at, Until: &until}, Tier: spec.TierHeavy, Class: spec.ClassPremium,
		RunsOn:  map[string]string{"gpu.kind": "a100", "arch": "arm64"},
		Timeout: spec.Duration(26 * time.Hour), Grace: spec.Duration(1500 * time.Millisecond),
		Retry:   spec.Retry{MaxAttempts: 5, Delay: spec.Duration(time.Second), MaxDelay: spec.Duration(time.Hour), On: []int{1, 2}, NotOn: []int{3}},
		Overlap: spec.OverlapQueue, CatchUp: spec.CatchUp{Policy: spec.CatchUpAll, Window: spec.Duration(time.Hour)}, Delivery: spec.DeliveryAtMostOnce,
		Limits:  spec.Limits{Memory: 256 * spec.Mebibyte, CPU: 0.5, Output: spec.Gibibyte, OpenFiles: 64},
		Exclude: []spec.Exclusion{{Cron: "* * 24 12 *"}, {From: at, To: until}},
		Alerts:  &spec.Alerts{Lag: spec.Duration(time.Minute), On: []string{"failed"}}, Labels: map[string]string{"team.name": "data", "$where": "1"},
	}
	job.OneOff = true
	job.Paused, job.PausedAt, job.PausedBy, job.PausedReason, job.Message = true, noon, "grace", "too «loud»", "why: «so»"
	return job
}

// edit gives the next revision of a job with another definition.
func edit(job engine.Job, description string) engine.Job {
	job.Spec.Description, job.Message = description, "now "+description
	job.Generation++
	job.Revision++
	job.Pending = true
	job.UpdatedAt, job.UpdatedBy = job.UpdatedAt.Add(time.Minute), "grace"
	return job
}

// remove gives a tombstone.
func remove(job engine.Job) engine.Job {
	job.Revision++
	job.Deleted, job.Pending = true, true
	return job
}

func handled(job engine.Job) engine.Batch {
	return engine.Batch{Handled: []engine.JobHandled{{UID: job.UID, Namespace: job.Namespace, Name: job.Name, Revision: job.Revision}}}
}

func (h *harness) job(name string) engine.Job {
	h.Helper()
	job, err := h.store.Jobs().Get(h.ctx, namespace, name)
	h.must("read job "+name, err)
	return job
}

func (h *harness) replaceJob(job engine.Job) engine.Job {
	h.Helper()
	h.must("replace job "+job.Name, h.store.Jobs().Replace(h.ctx, job))
	return job
}

func (h *harness) pending(want ...engine.Job) {
	h.Helper()
	jobs, err := h.store.PendingJobs(h.ctx, allShards(), 1000)
	h.must("list pending jobs", err)
	uid := func(job engine.Job) string { return job.UID }
	same(h.T, "pending jobs", sorted(jobs, uid), sorted(want, uid))
}

var jobPromises = []promise{
	{"a job comes back as it was written", func(h *harness) {
		full, plain := h.createJob(fullJob()), h.createJob(aJob("plain"))
		same(h.T, "full", h.job("full"), full)
		same(h.T, "plain", h.job("plain"), plain)
		jobs, err := h.store.JobsByUID(h.ctx, []string{full.UID, uidOf("nobody")})
		h.must("read by uid", err)
		same(h.T, "by uid", jobs, []engine.Job{full})
		jobs, err = h.store.JobsByUID(h.ctx, nil)
		h.must("read none", err)
		same(h.T, "none", len(jobs), 0)
	}},
	{"a job belongs to whoever holds it", func(h *harness) {
		given := h.createJob(fullJob())
		given.Spec.Args[0], given.Spec.Env["A.B"], given.Spec.Payload[2] = "changed", "changed", 'X'
		got := h.job("full")
		same(h.T, "after its giver changed it", got, fullJob())
		got.Spec.Args[0], got.Spec.Env["A.B"], got.Spec.Payload[2] = "changed", "changed", 'X'
		same(h.T, "after its reader changed it", h.job("full"), fullJob())
	}},
	{"a name is given once", func(h *harness) {
		first := h.createJob(aJob("report"))
		second := aJob("report")
		second.UID = uidOf("second")
		if err := h.store.Jobs().Create(h.ctx, second); !errors.Is(err, engine.ErrExists) {
			h.Fatalf("got %v", err)
		}
		same(h.T, "job", h.job("report"), first)
		elsewhere := aJob("report")
		elsewhere.UID, elsewhere.Namespace = uidOf("third"), "other"
		h.createJob(elsewhere)
		same(h.T, "job", h.job("report"), first)
	}},
	{"what is asked of a job that is not there is not found", func(h *harness) {
		if _, err := h.store.Jobs().Get(h.ctx, namespace, "none"); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("read: %v", err)
		}
		if err := h.store.Jobs().Replace(h.ctx, edit(aJob("none"), "x")); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("replace: %v", err)
		}
		if _, err := h.store.Generation(h.ctx, uidOf("none"), 1); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("generation: %v", err)
		}
		generations, err := h.store.Jobs().Generations(h.ctx, uidOf("none"), 0, 10)
		h.must("generations", err)
		same(h.T, "generations", len(generations), 0)
	}},
	{"stale write of a job is refused", func(h *harness) {
		job := h.createJob(aJob("report"))
		mine := h.replaceJob(edit(job, "mine"))
		if err := h.store.Jobs().Replace(h.ctx, edit(job, "theirs")); !errors.Is(err, engine.ErrConflict) {
			h.Fatalf("got %v", err)
		}
		skipping := edit(edit(edit(job, "x"), "y"), "z")
		if err := h.store.Jobs().Replace(h.ctx, skipping); !errors.Is(err, engine.ErrConflict) {
			h.Fatalf("got %v", err)
		}
		same(h.T, "job", h.job("report"), mine)
		generations, err := h.store.Jobs().Generations(h.ctx, job.UID, 0, 10)
		h.must("generations", err)
		same(h.T, "generations", len(generations), 2)
		same(h.T, "the second", generations[0].Spec.Description, "mine")
	}},
	{"each form of a job is kept", func(h *harness) {
		job := h.createJob(fullJob())
		second := h.replaceJob(edit(job, "second"))
		paused := second
		paused.Revision, paused.Paused = 3, false
		h.replaceJob(paused)
		third := h.replaceJob(edit(paused, "third"))
		want := []engine.Generation{
			{UID: job.UID, Generation: 3, Spec: third.Spec, By: "grace", At: third.UpdatedAt, Message: "now third"},
			{UID: job.UID, Generation: 2, Spec: second.Spec, By: "grace", At: second.UpdatedAt, Message: "now second"},
			{UID: job.UID, Generation: 1, Spec: job.Spec, By: "ada", At: job.UpdatedAt, Message: job.Message},
		}
		generations, err := h.store.Jobs().Generations(h.ctx, job.UID, 0, 10)
		h.must("list", err)
		same(h.T, "generations", generations, want)
		generations, err = h.store.Jobs().Generations(h.ctx, job.UID, 0, 2)
		h.must("list", err)
		same(h.T, "two generations", generations, want[:2])
		generations, err = h.store.Jobs().Generations(h.ctx, job.UID, 3, 1)
		h.must("list the next page", err)
		same(h.T, "the one below the third", generations, want[1:2])
		generations, err = h.store.Jobs().Generations(h.ctx, job.UID, 3, 10)
		h.must("list the rest", err)
		same(h.T, "those below the third", generations, want[1:])
		generations, err = h.store.Jobs().Generations(h.ctx, job.UID, 1, 10)
		h.must("list beyond the end", err)
		same(h.T, "those below the first", len(generations), 0)
		one, err := h.store.Generation(h.ctx, job.UID, 2)
		h.must("read", err)
		same(h.T, "generation 2", one, want[1])
		if _, err := h.store.Generation(h.ctx, job.UID, 4); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("generation 4: %v", err)
		}
	}},
	{"jobs are listed by name, by pages, by namespace and by text", func(h *harness) {
		names := []string{"Zeta", "alpha", "beta-report", "gamma", "Report-one", "a_b", "axb"}
		for _, name := range names {
			h.createJob(aJob(name))
		}
		elsewhere := aJob("elsewhere")
		elsewhere.Namespace = "other"
		h.createJob(elsewhere)
		h.createJob(aJob("buried"))
		h.replaceJob(remove(aJob("buried")))
		slices.Sort(names)
		same(h.T, "by pages of 2", h.jobNames(engine.DefinitionFilter{Namespace: namespace, Limit: 2}), names)
		same(h.T, "at once", h.jobNames(engine.DefinitionFilter{Namespace: namespace, Limit: 1000}), names)
		same(h.T, "other namespace", h.jobNames(engine.DefinitionFilter{Namespace: "other", Limit: 2}), []string{"elsewhere"})
		same(h.T, "text", h.jobNames(engine.DefinitionFilter{Namespace: namespace, Text: "rEPORT", Limit: 1}), []string{"Report-one", "beta-report"})
		same(h.T, "text that looks like a pattern", h.jobNames(engine.DefinitionFilter{Namespace: namespace, Text: "a_b", Limit: 10}), []string{"a_b"})
		everywhere := h.jobNames(engine.DefinitionFilter{Limit: 3})
		slices.Sort(everywhere)
		want := append(names, "elsewhere")
		slices.Sort(want)
		same(h.T, "everywhere", everywhere, want)
	}},
	{"pending jobs are those that the engine has not acted upon", func(h *harness) {
		one, two := h.createJob(aJob("one")), h.createJob(aJob("two"))
		h.pending(one, two)
		jobs, err := h.store.PendingJobs(h.ctx, []int{one.Shard}, 1000)
		h.must("list", err)
		for _, job := range jobs {
			same(h.T, "shard", job.Shard, one.Shard)
		}
		jobs, err = h.store.PendingJobs(h.ctx, allShards(), 1)
		h.must("list", err)
		same(h.T, "of a limit of 1", len(jobs), 1)
		h.commit(handled(one))
		h.pending(two)
		one.Pending = false
		same(h.T, "job", h.job("one"), one)
		h.pending(two, h.replaceJob(edit(one, "x")))
	}},
	{"pending is cleared only at the revision handled", func(h *harness) {
		job := h.createJob(aJob("report"))
		edited := h.replaceJob(edit(job, "meanwhile"))
		h.commit(handled(job))
		h.pending(edited)
		h.commit(handled(edit(edited, "not yet there")))
		h.pending(edited)
		h.commit(handled(edited))
		h.pending()
		edited.Pending = false
		same(h.T, "job", h.job("report"), edited)
		h.replaceJob(edit(edited, "the revision has not moved"))
	}},
	{"a tombstone is pending until it is handled, and then gone with its generations", func(h *harness) {
		job := h.createJob(aJob("report"))
		tomb := h.replaceJob(remove(job))
		h.pending(tomb)
		if _, err := h.store.Jobs().Get(h.ctx, namespace, "report"); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("a deleted job: %v", err)
		}
		jobs, err := h.store.JobsByUID(h.ctx, []string{job.UID})
		h.must("read", err)
		same(h.T, "tombstone", jobs, []engine.Job{tomb})
		_, err = h.store.Generation(h.ctx, job.UID, 1)
		h.must("generation of a tombstone", err)
		h.commit(handled(job)) // of the revision before: changes nothing
		h.pending(tomb)
		h.commit(handled(tomb))
		h.commit(handled(tomb))
		h.pending()
		jobs, err = h.store.JobsByUID(h.ctx, []string{job.UID})
		h.must("read", err)
		same(h.T, "jobs", len(jobs), 0)
		if _, err := h.store.Generation(h.ctx, job.UID, 1); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("generation of what is gone: %v", err)
		}
		if err := h.store.Jobs().Replace(h.ctx, edit(tomb, "x")); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("replace what is gone: %v", err)
		}
	}},
	{"tombstone frees the name", func(h *harness) {
		tomb := h.replaceJob(remove(h.createJob(aJob("report"))))
		next := aJob("report")
		next.UID = uidOf("second")
		next.Shard = engine.ShardOf(next.UID)
		h.createJob(next)
		same(h.T, "job", h.job("report"), next)
		same(h.T, "names", h.jobNames(engine.DefinitionFilter{Namespace: namespace, Limit: 10}), []string{"report"})
		third := aJob("report")
		third.UID = uidOf("third")
		if err := h.store.Jobs().Create(h.ctx, third); !errors.Is(err, engine.ErrExists) {
			h.Fatalf("a third of the name: %v", err)
		}
		h.commit(handled(tomb)) // must not touch the new job
		same(h.T, "job", h.job("report"), next)
		h.commit(handled(next))
		_, err := h.store.Generation(h.ctx, next.UID, 1)
		h.must("generation", err)
		next.Pending = false
		h.replaceJob(edit(next, "x"))
	}},
	{"a tombstone whose name is another's is kept by its uid until it is handled", func(h *harness) {
		var tombs []engine.Job
		for _, word := range []string{"first", "second", "third"} {
			job := aJob("report")
			job.UID = uidOf(word)
			job.Shard = engine.ShardOf(job.UID)
			job = h.createJob(job)
			job = h.replaceJob(edit(job, "again"))
			tombs = append(tombs, h.replaceJob(remove(job)))
		}
		next := aJob("report")
		next.UID = uidOf("living")
		next.Shard = engine.ShardOf(next.UID)
		next = h.createJob(next)

		uid := func(job engine.Job) string { return job.UID }
		kept := func(want ...engine.Job) {
			h.Helper()
			h.pending(append(want, next)...)
			jobs, err := h.store.JobsByUID(h.ctx, []string{tombs[0].UID, tombs[1].UID, tombs[2].UID})
			h.must("read by uid", err)
			same(h.T, "tombstones", sorted(jobs, uid), sorted(want, uid))
		}
		kept(tombs...)
		jobs, err := h.store.PendingJobs(h.ctx, []int{tombs[0].Shard}, 1000)
		h.must("list", err)
		if !slices.ContainsFunc(jobs, func(job engine.Job) bool { return job.UID == tombs[0].UID }) {
			h.Fatalf("shard %d has no tombstone of its own", tombs[0].Shard)
		}
		jobs, err = h.store.PendingJobs(h.ctx, allShards(), 2)
		h.must("list", err)
		same(h.T, "of a limit of 2", len(jobs), 2)
		generations, err := h.store.Jobs().Generations(h.ctx, tombs[1].UID, 0, 10)
		h.must("generations of a tombstone", err)
		same(h.T, "generations of a tombstone", len(generations), 2)
		one, err := h.store.Generation(h.ctx, tombs[1].UID, tombs[1].Generation)
		h.must("generation of a tombstone", err)
		same(h.T, "generation of a tombstone", one.Spec, tombs[1].Spec)

		before := tombs[1]
		before.Revision--
		h.commit(handled(before)) // changes nothing
		kept(tombs...)
		h.commit(handled(tombs[1]))
		h.commit(handled(tombs[1]))
		kept(tombs[0], tombs[2])
		for generation := range int64(2) {
			if _, err := h.store.Generation(h.ctx, tombs[1].UID, generation+1); !errors.Is(err, engine.ErrNotFound) {
				h.Fatalf("generation %d of what is gone: %v", generation+1, err)
			}
		}
		if _, err := h.store.Generation(h.ctx, tombs[0].UID, 1); err != nil {
			h.Fatalf("generation of what is still there: %v", err)
		}
		h.commit(handled(tombs[0]))
		h.commit(handled(tombs[2]))
		kept()
		same(h.T, "job", h.job("report"), next)
	}},
	{"a deleted job cannot be written under its old uid once the name is another's", func(h *harness) {
		tomb := h.replaceJob(remove(h.createJob(aJob("report"))))
		next := aJob("report")
		next.UID = uidOf("second")
		h.createJob(next)
		h.commit(handled(tomb))
		if err := h.store.Jobs().Replace(h.ctx, edit(tomb, "from the grave")); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("got %v", err)
		}
		same(h.T, "job", h.job("report"), next)
	}},
}

func (h *harness) jobNames(filter engine.DefinitionFilter) (names []string) {
	h.Helper()
	for pages := 0; ; pages++ {
		jobs, next, err := h.store.Jobs().List(h.ctx, filter)
		h.must("list jobs", err)
		if len(jobs) > filter.Limit || pages > 1000 {
			h.Fatalf("page %d has %d jobs for a limit of %d", pages, len(jobs), filter.Limit)
		}
		for _, job := range jobs {
			names = append(names, job.Name)
		}
		if next == "" {
			return names
		}
		filter.Cursor = next
	}
}
