package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// past fills a store with runs of all kinds and gives them newest first.
func past(h *harness) []engine.Run {
	var all []engine.Run
	statuses := engine.Statuses()
	for i := range 120 {
		job := aJob(numbered("Job", i%5))
		if i%24 == 23 { // the name of a deleted job, used again
			job.UID, job.Name = uidOf("second"), "Job-0003"
			job.Shard = engine.ShardOf(job.UID)
		}
		if i%10 == 9 {
			job.Namespace = "other"
		}
		run := slotRun(job, noon.Add(time.Duration(i/4)*time.Second)) // four at a time are created alike
		if i%6 == 5 {
			run = manualRun(job, fmt.Sprint(i), run.CreatedAt)
			run.By = []string{"ada", "grace"}[i/6%2]
		}
		run.ID += fmt.Sprintf("_%03d", (i*37)%120) // ids in another order than creation
		run.Status = statuses[(i*7)%len(statuses)]
		if run.Status.Terminal() {
			run.FinishedAt = run.CreatedAt.Add(time.Minute)
		}
		run.Tier = []spec.Tier{spec.TierLight, spec.TierLight, spec.TierMedium, spec.TierHeavy}[(i/3)%4]
		if i%8 == 0 {
			run.Reason = "Waits for 100%_of \\the disk; Ünïcode"
		}
		all = append(all, run)
	}
	h.commitRuns(all...)
	slices.SortFunc(all, newestFirst)
	return all
}

func newestFirst(a, b engine.Run) int {
	if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
		return c
	}
	return strings.Compare(b.ID, a.ID)
}

// lists wants just those of all that choose picks, in their order, by pages of several sizes.
func (h *harness) lists(all []engine.Run, filter engine.RunFilter, choose func(engine.Run) bool) {
	h.Helper()
	var want []string
	for _, run := range all {
		if choose(run) {
			want = append(want, run.ID)
		}
	}
	for _, limit := range []int{1, 7, 1000} {
		filter.Limit = limit
		same(h.T, fmt.Sprintf("history of %+v", filter), runIDs(h.history(filter)), want)
	}
}

var historyPromises = []promise{
	{"history is newest first, by pages of any size", func(h *harness) {
		all := past(h)
		h.lists(all, engine.RunFilter{}, func(engine.Run) bool { return true })
		same(h.T, "whole runs", h.history(engine.RunFilter{Limit: 50}), all)
	}},
	{"an empty history is one empty page", func(h *harness) {
		runs, next, err := h.store.Runs(h.ctx, engine.RunFilter{Limit: 10})
		h.must("list", err)
		same(h.T, "runs", runIDs(runs), nil)
		same(h.T, "next", next, "")
	}},
	{"each filter picks its own", func(h *harness) {
		all := past(h)
		h.lists(all, engine.RunFilter{Namespace: namespace}, func(r engine.Run) bool { return r.Namespace == namespace })
		h.lists(all, engine.RunFilter{Namespace: "none"}, func(r engine.Run) bool { return false })
		h.lists(all, engine.RunFilter{JobUID: uidOf("second")}, func(r engine.Run) bool { return r.JobUID == uidOf("second") })
		h.lists(all, engine.RunFilter{JobUID: aJob("Job-0001").UID}, func(r engine.Run) bool { return r.JobUID == aJob("Job-0001").UID })
		h.lists(all, engine.RunFilter{Job: "Job-0003"}, func(r engine.Run) bool { return r.Job == "Job-0003" })
		h.lists(all, engine.RunFilter{Job: "job-0003"}, func(r engine.Run) bool { return false })
		h.lists(all, engine.RunFilter{Tier: spec.TierHeavy}, func(r engine.Run) bool { return r.Tier == spec.TierHeavy })
		h.lists(all, engine.RunFilter{Tier: spec.TierLight}, func(r engine.Run) bool { return r.Tier == spec.TierLight })
		h.lists(all, engine.RunFilter{By: "grace"}, func(r engine.Run) bool { return r.By == "grace" })
		for _, status := range engine.Statuses() {
			h.lists(all, engine.RunFilter{Statuses: []engine.Status{status}}, func(r engine.Run) bool { return r.Status == status })
		}
	}},
	{"several statuses are one list", func(h *harness) {
		all := past(h)
		for _, statuses := range [][]engine.Status{
			{engine.StatusFailed, engine.StatusDead, engine.StatusLost},
			{engine.StatusQueued, engine.StatusRunning},
			{engine.StatusSucceeded, engine.StatusRunning, engine.StatusFailed},
			engine.Statuses(),
			{engine.StatusFailed, engine.StatusFailed},
		} {
			h.lists(all, engine.RunFilter{Statuses: statuses}, func(r engine.Run) bool { return slices.Contains(statuses, r.Status) })
		}
	}},
	{"a window of time has its beginning and not its end", func(h *harness) {
		all := past(h)
		since, until := all[70].CreatedAt, all[30].CreatedAt
		h.lists(all, engine.RunFilter{Since: since}, func(r engine.Run) bool { return !r.CreatedAt.Before(since) })
		h.lists(all, engine.RunFilter{Until: until}, func(r engine.Run) bool { return r.CreatedAt.Before(until) })
		h.lists(all, engine.RunFilter{Since: since, Until: until}, func(r engine.Run) bool {
			return !r.CreatedAt.Before(since) && r.CreatedAt.Before(until)
		})
		h.lists(all, engine.RunFilter{Since: until, Until: since}, func(engine.Run) bool { return false })
	}},
	{"filters go together", func(h *harness) {
		all := past(h)
		since, until := all[100].CreatedAt, all[10].CreatedAt
		h.lists(all, engine.RunFilter{Namespace: namespace, Job: "Job-0002", Statuses: []engine.Status{engine.StatusSucceeded, engine.StatusRunning}},
			func(r engine.Run) bool {
				return r.Namespace == namespace && r.Job == "Job-0002" && (r.Status == engine.StatusSucceeded || r.Status == engine.StatusRunning)
			})
		h.lists(all, engine.RunFilter{Namespace: namespace, Tier: spec.TierLight, Since: since, Until: until, Statuses: []engine.Status{engine.StatusSucceeded, engine.StatusFailed}},
			func(r engine.Run) bool {
				return r.Namespace == namespace && r.Tier == spec.TierLight && !r.CreatedAt.Before(since) && r.CreatedAt.Before(until) &&
					(r.Status == engine.StatusSucceeded || r.Status == engine.StatusFailed)
			})
		h.lists(all, engine.RunFilter{Namespace: namespace, By: "ada", Tier: spec.TierMedium}, func(r engine.Run) bool {
			return r.Namespace == namespace && r.By == "ada" && r.Tier == spec.TierMedium
		})
		h.lists(all, engine.RunFilter{JobUID: aJob("Job-0004").UID, Namespace: "other", Text: "0004", Since: since}, func(r engine.Run) bool {
			return r.JobUID == aJob("Job-0004").UID && r.Namespace == "other" && !r.CreatedAt.Before(since)
		})
	}},
	{"text is found in the id, the name and the reason, whatever its case", func(h *harness) {
		all := past(h)
		for _, text := range []string{"JOB-0001", "_03", "waits for", "100%_OF", `\THE`, "0%", "ünÏCODE", "nowhere", "S17"} {
			want := strings.ToLower(text)
			h.lists(all, engine.RunFilter{Text: text}, func(r engine.Run) bool {
				return strings.Contains(strings.ToLower(r.ID+"\n"+r.Job+"\n"+r.Reason), want)
			})
		}
	}},
	{"a status that changes moves a run from list to list", func(h *harness) {
		job := aJob("report")
		for _, run := range finished(job, noon, engine.StatusFailed) {
			h.commitRuns(run)
			for _, status := range engine.Statuses() {
				h.lists([]engine.Run{run}, engine.RunFilter{Statuses: []engine.Status{status}}, func(r engine.Run) bool { return r.Status == status })
				h.lists([]engine.Run{run}, engine.RunFilter{JobUID: job.UID, Statuses: []engine.Status{status}}, func(r engine.Run) bool { return r.Status == status })
			}
			h.lists([]engine.Run{run}, engine.RunFilter{}, func(engine.Run) bool { return true })
		}
	}},
	{"paging continues from where it was, whatever is inserted meanwhile", func(h *harness) {
		all := past(h)
		filter := engine.RunFilter{Limit: 9}
		var got []string
		for i := 0; ; i++ {
			runs, next, err := h.store.Runs(h.ctx, filter)
			h.must("list", err)
			got = append(got, runIDs(runs)...)
			if next == "" {
				break
			}
			filter.Cursor = next
			h.commitRuns(slotRun(aJob("later"), noon.Add(time.Duration(i+1)*time.Hour)))
		}
		same(h.T, "history", got, runIDs(all))
	}},
	{"a cursor that is none of its own is refused", func(h *harness) {
		past(h)
		for _, cursor := range []string{"x", "!!!", "AAAA", "eyJhIjoxfQ", strings.Repeat("z", 300), "1|2|3", "\x00"} {
			_, _, err := h.store.Runs(h.ctx, engine.RunFilter{Limit: 5, Cursor: cursor})
			h.badCursor("runs", cursor, err)
			_, _, err = h.store.Jobs().List(h.ctx, engine.DefinitionFilter{Limit: 5, Cursor: cursor})
			h.badCursor("jobs", cursor, err)
			_, _, err = h.store.Slots(h.ctx, engine.SlotFilter{JobUID: uidOf("a"), Limit: 5, Cursor: cursor})
			h.badCursor("slots", cursor, err)
			_, _, err = h.store.DeadLetters(h.ctx, namespace, cursor, 5)
			h.badCursor("dead letters", cursor, err)
			_, _, err = h.store.Binaries(h.ctx, namespace, cursor, 5)
			h.badCursor("binaries", cursor, err)
		}
	}},
}

func (h *harness) badCursor(list, cursor string, err error) {
	h.Helper()
	if !errors.Is(err, engine.ErrCursor) {
		h.Fatalf("%s with cursor %q: got %v, want engine.ErrCursor", list, cursor, err)
	}
}
