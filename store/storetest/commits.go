package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Commits is the port through which the engine writes what it owns.
type Commits interface {
	// Take makes the caller the owner of a shard: every later commit of an earlier owner gives engine.ErrFenced.
	Take(ctx context.Context, shard int, owner string) (engine.Term, error)
	// Commit writes decisions, each whole or not at all, if its term is the shard's latest and its position the next
	// one. A call has at most one commit of a shard. It gives one error for each commit: nil; engine.ErrFenced: this call has
	// written nothing, because another engine owns the shard; any other error: nothing is known, and the caller may give the
	// same commit again. One that is done already is not done again.
	Commit(ctx context.Context, commits []engine.ShardCommit) []error
}

// Behind is a store whose readers may be behind what was committed.
type Behind interface {
	// CatchUp returns once readers see all that was committed before.
	CatchUp(ctx context.Context) error
}

// owner commits what it decides about one shard.
type owner struct {
	*harness
	shard    int
	term     uint64
	position uint64 // of the last commit
}

func (h *harness) take(shard int, name string) *owner {
	h.Helper()
	term, err := h.store.Take(h.ctx, shard, name)
	h.must("take", err)
	return &owner{h, shard, term.Number, term.Position}
}

// catchUp waits until readers see what was committed.
func (h *harness) catchUp() {
	h.Helper()
	if store, ok := h.store.(Behind); ok {
		h.must("catch up", store.CatchUp(h.ctx))
	}
}

// caughtUp is state once readers see what was committed, sorted to be compared with after.
func (h *harness) caughtUp(jobs ...engine.Job) state {
	h.Helper()
	h.catchUp()
	found := h.state(jobs...)
	now := found.after(&engine.Batch{})
	now.Active = sorted(found.Active, runID)
	return now
}

// next gives a decision the position after the last commit.
func (o *owner) next(decision engine.Batch) engine.ShardCommit {
	return engine.ShardCommit{Shard: o.shard, Term: o.term, Position: o.position + 1, Batch: &decision}
}

// commit writes a decision as the next one, and returns the commit.
func (o *owner) commit(decision engine.Batch) engine.ShardCommit {
	o.Helper()
	commit := o.next(decision)
	o.must("commit", o.try(commit))
	o.position++
	return commit
}

func (h *harness) try(commit engine.ShardCommit) error {
	h.Helper()
	answers := h.store.Commit(h.ctx, []engine.ShardCommit{commit})
	same(h.T, "answers", len(answers), 1)
	return answers[0]
}

// isFenced wants an owner's next commit to be refused because of another owner.
func (o *owner) isFenced(decision engine.Batch) {
	o.Helper()
	if err := o.try(o.next(decision)); !errors.Is(err, engine.ErrFenced) {
		o.Fatalf("term %d, position %d: got %v, want %v", o.term, o.position+1, err, engine.ErrFenced)
	}
}

// after returns what a store holds once a decision is written, each list in the order of its ids.
func (s *state) after(d *engine.Batch) state {
	now := *s
	now.Runs = replaced(s.Runs, d.Runs, d.DropRuns, runID)
	now.Active = slices.DeleteFunc(slices.Clone(now.Runs), func(run engine.Run) bool { return run.Status.Terminal() })
	now.Waves = replaced(s.Waves, d.Waves, nil, waveID)
	now.Tasks = replaced(s.Tasks, d.Tasks, d.DropTasks, func(task engine.ScheduledTask) string { return task.ID })
	now.Slots = replaced(s.Slots, d.Slots, nil, func(slots engine.SlotRange) string { return slots.ID })
	now.Letters = replaced(s.Letters, d.DeadLetters, d.DropLetters, func(letter engine.DeadLetter) string { return letter.RunID })
	now.Incidents = replaced(s.Incidents, d.Incidents, d.DropIncidents, incidentID)
	return now
}

// replaced returns a list after puts and drops, in the order of its ids.
func replaced[T any](list, puts []T, drops []string, id func(T) string) []T {
	byID := map[string]T{}
	for _, one := range slices.Concat(list, puts) {
		byID[id(one)] = one
	}
	for _, id := range drops {
		delete(byID, id)
	}
	var now []T
	for _, one := range byID {
		now = append(now, one)
	}
	return sorted(now, id)
}

// jobsOf returns two jobs and a DAG of one shard.
func jobsOf(shard int) (jobs []engine.Job, dag engine.DAG) {
	for n := 0; len(jobs) < 2; n++ {
		if job := aJob(numbered("job", n)); job.Shard == shard {
			jobs = append(jobs, job)
		}
	}
	for n := 0; dag.UID == "" || dag.Shard != shard; n++ {
		dag = aDAG(numbered("dag", n))
	}
	return jobs, dag
}

// stages are decisions about one shard that put, replace and drop documents of every kind.
func stages(jobs []engine.Job, dag engine.DAG) (put, replace, drop engine.Batch) {
	one, two := jobs[0], jobs[1]
	lives := finished(one, noon, engine.StatusDead)
	wave, asked := aWave(dag, 1, noon), askedWave(dag, "key", noon)
	fetch := taskRun(wave, "fetch", -1)
	put = engine.Batch{
		Runs:  []engine.Run{lives[3], slotRun(two, noon), fetch, fullRun(two)},
		Waves: []engine.Wave{wave, asked},
		Tasks: []engine.ScheduledTask{aTask(one, noon), aTask(two, noon)},
		Slots: []engine.SlotRange{aSlotRange(one, noon, 5)}, DeadLetters: []engine.DeadLetter{aLetter(lives[3], noon)},
		Incidents: []engine.Incident{anIncident(one, spec.AlertFailed, noon), anIncident(two, spec.AlertSilent, noon)},
	}
	// Whatever its revision is, and whether it is more or less than what stands there.
	older, moved, letter := wave, aTask(one, noon.Add(time.Hour)), aLetter(lives[3], noon.Add(time.Minute))
	older.Reason, moved.Revision, letter.Error = "again", 9, "another"
	other := slotRun(two, noon)
	other.By = "another"
	replace = engine.Batch{
		Runs:  []engine.Run{lives[1], other, ended(queued(fetch), engine.StatusSucceeded, time.Minute)},
		Waves: []engine.Wave{older, endedWave(asked, engine.StatusSkipped)},
		Tasks: []engine.ScheduledTask{moved},
		Slots: []engine.SlotRange{aSlotRange(one, noon, 2), aSlotRange(two, noon, 1)}, DeadLetters: []engine.DeadLetter{letter},
		Incidents: []engine.Incident{endedIncident(anIncident(one, spec.AlertFailed, noon)), anIncident(one, spec.AlertLate, noon)},
	}
	drop = engine.Batch{
		Runs:      []engine.Run{queued(other)},
		DropRuns:  []string{lives[1].ID, fetch.ID, "none"},
		DropTasks: []string{one.UID, "none"}, DropLetters: []string{lives[3].ID, "none"},
		DropIncidents: []string{engine.IncidentID(one.UID, "", spec.AlertFailed), "none"},
	}
	return put, replace, drop
}

var commitPromises = []promise{
	{"documents of every kind are put, replaced and dropped", func(h *harness) {
		jobs, dag := jobsOf(7)
		for _, job := range jobs {
			h.createJob(job)
		}
		h.createDAG(dag)
		owner := h.take(7, "ada")
		want := h.caughtUp(jobs...)
		put, replace, drop := stages(jobs, dag)
		for _, decision := range []engine.Batch{put, replace, drop} {
			owner.commit(decision)
			want = want.after(&decision)
			same(h.T, "state", h.caughtUp(jobs...), want)
		}
		left := []int{len(want.Runs), len(want.Waves), len(want.Tasks), len(want.Slots), len(want.Letters), len(want.Incidents)}
		same(h.T, "what is left", left, []int{2, 2, 1, 2, 0, 2})
	}},
	{"a run is found where its last put says", func(h *harness) {
		job := aJob("report")
		owner := h.take(job.Shard, "ada")
		lives := finished(job, noon, engine.StatusSucceeded)
		var want state
		for _, at := range []int{0, 3, 1, 2, 3, 3, 0} { // back and forth between what has ended and what has not
			decision := engine.Batch{Runs: []engine.Run{lives[at]}}
			owner.commit(decision)
			want = want.after(&decision)
			same(h.T, "state", h.caughtUp(), want)
			same(h.T, "run", h.run(lives[at].ID), lives[at])
		}
		same(h.T, "expired while it is active", h.expireRuns(allShards(), noon.Add(time.Hour), 10), 0)
		owner.commit(engine.Batch{DropRuns: []string{lives[0].ID}})
		same(h.T, "state", h.caughtUp(), state{})
	}},
	{"a run that is created again under its id is listed where it was created", func(h *harness) {
		job := aJob("report")
		owner := h.take(job.Shard, "ada")
		var runs []engine.Run
		for minute := range 600 {
			runs = append(runs, queued(slotRun(job, noon.Add(time.Duration(minute)*time.Minute))))
		}
		owner.commit(engine.Batch{Runs: runs})
		for n := range runs {
			if n%3 == 0 {
				runs[n].CreatedAt = noon.Add(time.Duration(n*7919%6000) * time.Second)
			}
		}
		owner.commit(engine.Batch{Runs: runs})
		slices.SortFunc(runs, newestFirst)
		for range 3 { // active, ended, ended at another instant
			h.catchUp()
			same(h.T, "history", runIDs(h.history(engine.RunFilter{Namespace: namespace, Limit: 100})), runIDs(runs))
			for n := range runs {
				runs[n] = ended(runs[n], engine.StatusSucceeded, time.Hour)
				if n%3 == 0 {
					runs[n].CreatedAt = runs[n].CreatedAt.Add(time.Duration(n*31%600) * time.Second)
				}
			}
			owner.commit(engine.Batch{Runs: runs})
			slices.SortFunc(runs, newestFirst)
		}
	}},
	{"a definition is handled at the revision that it still has", func(h *harness) {
		jobs, dag := jobsOf(7)
		job, gone := h.createJob(jobs[0]), h.replaceJob(remove(h.createJob(jobs[1])))
		h.createDAG(dag)
		owner := h.take(7, "ada")
		of := func(uid, name string, revision int64) []engine.JobHandled {
			return []engine.JobHandled{{UID: uid, Namespace: namespace, Name: name, Revision: revision}}
		}
		owner.commit(engine.Batch{
			Handled:     append(of(job.UID, job.Name, 2), of(gone.UID, gone.Name, 1)...),
			HandledDAGs: of(dag.UID, dag.Name, 2),
		})
		h.catchUp()
		h.pending(job, gone)
		h.pendingDAGs(dag)
		owner.commit(engine.Batch{
			Handled:     append(of(job.UID, job.Name, 1), of(gone.UID, gone.Name, 2)...),
			HandledDAGs: of(dag.UID, dag.Name, 1),
		})
		h.catchUp()
		h.pending()
		h.pendingDAGs()
		same(h.T, "revision", h.job(job.Name).Revision, 1)
		if _, err := h.store.Generation(h.ctx, gone.UID, 1); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("a generation of what is gone: %v", err)
		}
		owner.commit(engine.Batch{HandledDAGs: of(h.replaceDAG(removeDAG(dag)).UID, dag.Name, 2)})
		h.catchUp()
		if _, err := h.store.DAGGeneration(h.ctx, dag.UID, 1); !errors.Is(err, engine.ErrNotFound) {
			h.Fatalf("a generation of what is gone: %v", err)
		}
	}},
	{"a command is done at the instant at which it was left", func(h *harness) {
		job := aJob("report")
		owner := h.take(job.Shard, "ada")
		commands := func(want ...engine.Command) {
			h.Helper()
			same(h.T, "commands", h.caughtUp().Commands, want)
		}
		left := aCommand(job, "backfill-1", noon)
		h.must("put", h.store.PutCommand(h.ctx, left))
		owner.commit(engine.Batch{Done: []engine.CommandDone{{ID: left.ID, At: noon.Add(-time.Second)}, {ID: "none", At: noon}}})
		commands(left)
		done := owner.commit(engine.Batch{Done: []engine.CommandDone{{ID: left.ID, At: noon.Add(99 * time.Microsecond)}}})
		commands()
		again := aCommand(job, left.ID, noon.Add(time.Hour))
		h.must("put again", h.store.PutCommand(h.ctx, again))
		h.must("commit again", h.try(done))
		commands(again)
		owner.commit(*done.Batch)
		commands(again)
	}},
	{"a decision of 20,000 runs is whole", func(h *harness) {
		job := aJob("report")
		first, second := h.take(job.Shard, "ada"), h.take(job.Shard, "grace")
		var large engine.Batch
		for n := range 20_000 {
			large.Runs = append(large.Runs, slotRun(job, noon.Add(time.Duration(n)*time.Second)))
		}
		first.isFenced(large)
		h.active([]int{job.Shard})
		second.commit(large)
		h.catchUp()
		runs, err := h.store.ActiveRuns(h.ctx, []int{job.Shard}, "", 30_000)
		h.must("list active runs", err)
		same(h.T, "runs", runIDs(runs), runIDs(sorted(large.Runs, runID)))
	}},
	{"a decision is whole or absent when its caller gives up", func(h *harness) {
		jobs, dag := jobsOf(7)
		owner := h.take(7, "ada")
		for n := range 8 {
			before := h.caughtUp(jobs...)
			decision := engine.Batch{Waves: []engine.Wave{aWave(dag, int64(n+1), noon)}}
			for minute := range 100 {
				decision.Runs = append(decision.Runs, slotRun(jobs[0], noon.Add(time.Duration(100*n+minute)*time.Minute)))
			}
			commit := owner.next(decision)
			ctx, giveUp := context.WithCancel(h.ctx)
			answered := make(chan error, 1)
			go func() { answered <- h.store.Commit(ctx, []engine.ShardCommit{commit})[0] }()
			giveUp()
			if err := <-answered; err == nil || n%2 == 0 {
				h.must("commit again", h.try(commit))
				same(h.T, "state", h.caughtUp(jobs...), before.after(&decision))
				owner.position++
				continue
			}
			owner = h.take(7, fmt.Sprint("owner ", n)) // which ends what may be under way
			now := h.caughtUp(jobs...)
			if len(now.Runs) > len(before.Runs) {
				before = before.after(&decision)
			}
			same(h.T, "state", now, before)
		}
	}},
}
