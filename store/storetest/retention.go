package storetest

import (
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// retentionPromises are about rules that jobs, DAGs and namespaces have of their own.
var retentionPromises = []promise{
	{"runs of some namespaces expire, or of all but some, and those of jobs that keep them longer stay", func(h *harness) {
		jobs := map[string]engine.Job{}
		for _, name := range []string{"mine", "theirs", "longer", "young"} {
			job := aJob(name)
			if name == "theirs" {
				job.Namespace = "other"
			}
			jobs[name] = job
		}
		fill := func() {
			for name, job := range jobs {
				for i := range 4 {
					at := noon.Add(time.Duration(i) * time.Minute)
					if name == "young" {
						at = at.Add(24 * time.Hour)
					}
					lives := finished(job, at, engine.StatusSucceeded)
					last := lives[3]
					last.Attempts = slices.Clone(last.Attempts)
					last.Attempts[0].Output = &engine.Output{Size: 3, Lines: int64(1 + i%2), Chunks: i % 2} // half of them keep something beside
					h.commitRuns(last)
				}
			}
		}
		longer := []string{jobs["longer"].UID}
		for name, test := range map[string]struct {
			what engine.Expiry
			gone []string
		}{
			"all":                           {engine.Expiry{}, []string{"longer", "mine", "theirs"}},
			"of one namespace":              {engine.Expiry{Namespaces: []string{"other"}}, []string{"theirs"}},
			"of two":                        {engine.Expiry{Namespaces: []string{"other", namespace, "none"}, Longer: longer}, []string{"mine", "theirs"}},
			"of all but one":                {engine.Expiry{Except: []string{"other", "none"}}, []string{"longer", "mine"}},
			"of all but one job":            {engine.Expiry{Longer: longer}, []string{"mine", "theirs"}},
			"of all but one and one job":    {engine.Expiry{Except: []string{"other"}, Longer: longer}, []string{"mine"}},
			"from before the first":         {engine.Expiry{From: noon.Add(-time.Hour)}, []string{"longer", "mine", "theirs"}},
			"from where all were looked at": {engine.Expiry{From: noon.Add(time.Hour)}, nil},
		} {
			fill()
			test.what.Before = noon.Add(2 * time.Hour)
			deleted := 0
			for range 100 {
				some, err := h.store.ExpireRuns(h.ctx, allShards(), test.what, 3)
				h.must("expire", err)
				if some.Count > 3 {
					h.Fatalf("%d for a limit of 3", some.Count)
				}
				if deleted += some.Count; !some.Done.IsZero() {
					test.what.From = some.Done
				}
				if some.Count == 0 && !test.what.From.Before(test.what.Before) {
					break
				}
			}
			same(h.T, name+": deleted", deleted, 4*len(test.gone))
			for job := range jobs {
				left := 4
				if slices.Contains(test.gone, job) {
					left = 0
				}
				same(h.T, name+": left of "+job, len(h.history(engine.RunFilter{JobUID: jobs[job].UID})), left)
			}
		}
	}},
	{"of the runs of a job that have ended the newest stay, some go at a time", func(h *harness) {
		job, other := aJob("report"), aJob("other")
		var all []string
		for i := range 12 {
			// Two are of each instant, as those of a backfill are.
			run := manualRun(job, fmt.Sprint("run", i), noon.Add(time.Duration(i/2)*time.Hour))
			run = ended(running(queued(run)), engine.StatusSucceeded, time.Minute)
			if i%3 == 0 {
				run.Attempts[0].Output = &engine.Output{Size: 9, Lines: 1, Chunks: 1}
			}
			h.commitRuns(run)
			all = append(all, run.ID)
		}
		open := h.live(finished(job, noon.Add(-time.Hour), engine.StatusSucceeded)[:3])
		kept := h.live(finished(other, noon.Add(-time.Hour), engine.StatusSucceeded))
		newest := runIDs(h.history(engine.RunFilter{JobUID: job.UID, Statuses: []engine.Status{engine.StatusSucceeded}}))
		same(h.T, "runs", len(newest), len(all))
		expire := func(what engine.OwnExpiry) (deleted int) {
			for range 100 {
				some, err := h.store.ExpireRunsOf(h.ctx, job.UID, what, 3)
				h.must("expire", err)
				if some.Count > 3 {
					h.Fatalf("%d for a limit of 3", some.Count)
				}
				if some.Count == 0 {
					break
				}
				deleted += some.Count
			}
			return deleted
		}
		left := func() []string {
			return runIDs(h.history(engine.RunFilter{JobUID: job.UID, Statuses: []engine.Status{engine.StatusSucceeded}}))
		}
		far := noon.Add(1000 * time.Hour)
		same(h.T, "none is settled", expire(engine.OwnExpiry{Newest: 5, Settled: noon}), 0)
		same(h.T, "as many as there are", expire(engine.OwnExpiry{Newest: 12, Settled: far}), 0)
		same(h.T, "deleted", expire(engine.OwnExpiry{Newest: 7, Settled: far}), 5)
		same(h.T, "left", left(), newest[:7])
		same(h.T, "settled for a while", expire(engine.OwnExpiry{Newest: 1, Settled: noon.Add(4 * time.Hour)}), 3)
		same(h.T, "left", left(), newest[:4])
		same(h.T, "the rest", expire(engine.OwnExpiry{Newest: 1, Settled: far}), 3)
		same(h.T, "left", left(), newest[:1])
		same(h.T, "a run under way", h.run(open.ID), open)
		same(h.T, "a run of another job", h.run(kept.ID), kept)
	}},
	{"runs of a job expire by an age of its own, with a number or without", func(h *harness) {
		job, other := aJob("report"), aJob("other")
		for i := range 10 {
			h.live(finished(job, noon.Add(time.Duration(i)*time.Hour), engine.StatusSucceeded))
		}
		kept := h.live(finished(other, noon, engine.StatusSucceeded))
		expire := func(what engine.OwnExpiry) (deleted int) {
			for range 100 {
				some, err := h.store.ExpireRunsOf(h.ctx, job.UID, what, 4)
				h.must("expire", err)
				if some.Count == 0 {
					break
				}
				deleted += some.Count
			}
			return deleted
		}
		same(h.T, "by age", expire(engine.OwnExpiry{Before: noon.Add(5 * time.Hour)}), 5)
		same(h.T, "by both", expire(engine.OwnExpiry{Before: noon.Add(6 * time.Hour), Newest: 2, Settled: noon.Add(1000 * time.Hour)}), 3)
		same(h.T, "left", len(h.history(engine.RunFilter{JobUID: job.UID})), 2)
		same(h.T, "of another job", h.run(kept.ID), kept)
	}},
	{"waves of a DAG expire by a number and an age of its own, with their runs", func(h *harness) {
		dag, other := h.createDAG(aDAG("etl")), h.createDAG(aDAG("other"))
		wave := func(d engine.DAG, epoch int64) engine.Wave {
			wave := endedWave(aWave(d, epoch, noon.Add(time.Duration(epoch)*time.Hour)), engine.StatusSucceeded)
			wave.Revision = 1
			h.commitWaves(wave)
			h.live(finishedTask(taskRun(wave, "fetch", -1), engine.StatusSucceeded))
			last := finishedTask(taskRun(wave, "join", 3), engine.StatusSucceeded)[3]
			last.Artifacts = []engine.Artifact{{Name: "report.csv", Size: 7, SHA256: "00"}}
			h.commitRuns(last)
			return wave
		}
		var waves []engine.Wave
		for epoch := range int64(10) {
			waves = append(waves, wave(dag, epoch+1))
		}
		wave(other, 1)
		wave(other, 2)
		open := aWave(dag, 11, noon.Add(11*time.Hour))
		h.commitWaves(open)
		active := h.live(finishedTask(taskRun(open, "fetch", -1), engine.StatusSucceeded)[:2])
		expire := func(d engine.DAG, what engine.OwnExpiry) (count, runs, beside int) {
			for range 100 {
				some, err := h.store.ExpireWavesOf(h.ctx, d.UID, what, 2)
				h.must("expire", err)
				if some.Count > 2 {
					h.Fatalf("%d for a limit of 2", some.Count)
				}
				if some.Count == 0 {
					break
				}
				count, runs, beside = count+some.Count, runs+some.Runs.Count, beside+len(some.Runs.Beside)
				for i := range some.Runs.Beside {
					if len(some.Runs.Beside[i].Artifacts) == 0 {
						beside--
					}
				}
			}
			return count, runs, beside
		}
		check := func(what string, own engine.OwnExpiry, count int, stay []engine.Wave) {
			h.Helper()
			deleted, runs, beside := expire(dag, own)
			same(h.T, what+": waves", deleted, count)
			same(h.T, what+": runs", runs, 2*count)
			same(h.T, what+": with artifacts", beside, 2*count)
			want := []string{open.ID}
			for _, wave := range slices.Backward(stay) {
				want = append(want, wave.ID)
			}
			same(h.T, what+": left", waveIDs(h.waves(engine.WaveFilter{DAGUID: dag.UID, Limit: 50})), want)
			same(h.T, what+": runs left", len(h.history(engine.RunFilter{JobUID: dag.UID})), 2*len(stay)+1)
		}
		far := noon.Add(1000 * time.Hour)
		check("none is settled", engine.OwnExpiry{Newest: 2, Settled: noon}, 0, waves)
		check("by age", engine.OwnExpiry{Before: waves[2].FinishedAt}, 2, waves[2:])
		check("by number", engine.OwnExpiry{Newest: 3, Settled: far}, 5, waves[7:])
		check("by both", engine.OwnExpiry{Before: waves[8].FinishedAt, Newest: 3, Settled: far}, 1, waves[8:])
		same(h.T, "a run under way", h.run(active.ID), active)
		deleted, _, _ := expire(other, engine.OwnExpiry{Before: far, Newest: 1, Settled: far})
		same(h.T, "all but that of the highest epoch", deleted, 1)
		same(h.T, "runs of the highest epoch", len(h.history(engine.RunFilter{JobUID: other.UID})), 2)
	}},
	{"waves, ledger entries and dead letters of some namespaces expire, and those that are kept longer stay", func(h *harness) {
		var uids []string
		for _, name := range []string{"mine", "theirs", "longer"} {
			dag := aDAG(name)
			if name == "theirs" {
				dag.Namespace = "other"
			}
			dag = h.createDAG(dag)
			uids = append(uids, dag.UID)
			var batch engine.Batch
			for epoch := range int64(3) {
				wave := endedWave(aWave(dag, epoch+1, noon.Add(time.Duration(epoch)*time.Hour)), engine.StatusSucceeded)
				wave.Revision = 1
				h.commitWaves(wave)
				root := aJob(name)
				root.Namespace, root.UID = dag.Namespace, engine.RootID(dag.UID, "fetch")
				batch.Slots = append(batch.Slots, aSlotRange(root, wave.CreatedAt, 2))
				letter := aLetter(finishedTask(taskRun(wave, "fetch", -1), engine.StatusDead)[3], wave.CreatedAt)
				batch.DeadLetters = append(batch.DeadLetters, letter)
			}
			h.commit(batch)
		}
		count := func() (waves, slots, letters [3]int) {
			var all []engine.DeadLetter
			for _, in := range []string{namespace, "other"} {
				some, _, err := h.store.DeadLetters(h.ctx, in, "", 100)
				h.must("letters", err)
				all = append(all, some...)
			}
			for i, uid := range uids {
				waves[i] = len(h.waves(engine.WaveFilter{DAGUID: uid, Limit: 50}))
				slots[i] = len(h.slots(engine.SlotFilter{JobUID: engine.RootID(uid, "fetch"), Limit: 50}))
				for k := range all {
					if all[k].JobUID == uid {
						letters[i]++
					}
				}
			}
			return waves, slots, letters
		}
		for _, test := range []struct {
			name   string
			what   engine.Expiry
			waves  [3]int
			others [3]int // of entries and dead letters
		}{
			{"looked at before", engine.Expiry{From: noon.Add(50 * time.Hour)}, [3]int{3, 3, 3}, [3]int{3, 3, 3}},
			{"of a namespace", engine.Expiry{Namespaces: []string{"other"}}, [3]int{3, 1, 3}, [3]int{3, 0, 3}},
			{"of all but one", engine.Expiry{Except: []string{"other"}, Longer: uids[2:]}, [3]int{1, 1, 3}, [3]int{0, 0, 3}},
			{"of all but one DAG", engine.Expiry{Longer: uids[2:]}, [3]int{1, 1, 3}, [3]int{0, 0, 3}},
			{"all", engine.Expiry{}, [3]int{1, 1, 1}, [3]int{0, 0, 0}},
		} {
			test.what.Before = noon.Add(100 * time.Hour)
			for range 5 {
				_, err := h.store.ExpireWaves(h.ctx, test.what, 2)
				h.must("expire waves", err)
				_, err = h.store.ExpireSlots(h.ctx, test.what, 2)
				h.must("expire slots", err)
				_, err = h.store.ExpireDeadLetters(h.ctx, test.what, 2)
				h.must("expire letters", err)
			}
			waves, slots, letters := count()
			same(h.T, test.name+": waves", waves, test.waves)
			same(h.T, test.name+": ledger", slots, test.others)
			same(h.T, test.name+": letters", letters, test.others)
		}
	}},
	{"definitions with a retention of their own are found among the others", func(h *harness) {
		rule := spec.Retention{Runs: 5}
		for _, name := range []string{"a", "b", "c"} {
			job, dag := aJob(name+"-job"), aDAG(name+"-dag")
			if name != "b" {
				job.Spec.Retention, dag.Spec.Retention = rule, rule
			}
			h.createJob(job)
			h.createDAG(dag)
		}
		retaining := engine.DefinitionFilter{Retaining: true, Limit: 1}
		same(h.T, "jobs", jobKind.names(h, retaining), []string{"a-job", "c-job"})
		same(h.T, "DAGs", dagKind.names(h, retaining), []string{"a-dag", "c-dag"})
		job, dag := edit(aJob("b-job"), "with"), h.dag("c-dag")
		job.Spec.Retention = rule
		h.replaceJob(job)
		dag = editDAG(dag, "without")
		dag.Spec.Retention = spec.Retention{}
		h.replaceDAG(dag)
		h.replaceJob(jobKind.remove(aJobWith(rule, "a-job")))
		same(h.T, "jobs after an edit and a deletion", jobKind.names(h, retaining), []string{"b-job", "c-job"})
		same(h.T, "DAGs after an edit", dagKind.names(h, retaining), []string{"a-dag"})
	}},
}

func aJobWith(rule spec.Retention, name string) engine.Job {
	job := aJob(name)
	job.Spec.Retention = rule
	return job
}
