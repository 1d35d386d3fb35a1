package storetest

import (
	"context"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Marks is what strips, charts, calendars and ordered lists of jobs ask of a store.
type Marks interface {
	// LatestMarks returns the newest runs of each job (by CreatedAt, then id), at most limit of each, the newest first;
	// the first timed of them with their instants. A job without runs is not in it.
	LatestMarks(ctx context.Context, uids []string, limit, timed int) (map[string][]engine.RunMark, error)
	// MarksWithin returns for each window the newest runs of a job that were created in it, at most limit, the newest
	// first, without their instants.
	MarksWithin(ctx context.Context, uid string, windows []engine.Window, limit int) ([][]engine.RunMark, error)
	// UpcomingPage lists scheduled tasks of a namespace that are not parked, the earliest first (by RunAt, then id),
	// with the cursor of the next page.
	UpcomingPage(ctx context.Context, namespace, cursor string, limit int) (tasks []engine.ScheduledTask, next string, err error)
}

// marksOf returns the marks of runs, as a store should: the first timed of them whole.
func marksOf(runs []engine.Run, timed int) []engine.RunMark {
	marks := make([]engine.RunMark, len(runs))
	for i := range runs {
		if marks[i] = runs[i].Mark(); i >= timed {
			marks[i] = engine.RunMark{ID: marks[i].ID, JobUID: marks[i].JobUID, Status: marks[i].Status, CreatedAt: marks[i].CreatedAt}
		}
	}
	return marks
}

// lives writes runs of a job, an hour apart and the newest first: one that is scheduled, one that runs, others that have
// ended.
func (h *harness) lives(job engine.Job, count int) []engine.Run {
	h.Helper()
	runs := make([]engine.Run, count)
	for i := range runs {
		revisions := finished(job, noon.Add(-time.Duration(i)*time.Hour), []engine.Status{engine.StatusSucceeded, engine.StatusDead, engine.StatusTimedOut}[i%3])
		switch i {
		case 0:
			revisions = revisions[:1]
		case 1:
			revisions = revisions[:3]
		}
		runs[i] = h.live(revisions)
	}
	return runs
}

var markPromises = []promise{
	{"the latest runs of many jobs, active and ended, the first of them with their instants", func(h *harness) {
		one, two, none := aJob("one"), aJob("two"), aJob("none")
		ones, twos := h.lives(one, 9), h.lives(two, 3)
		h.lives(aJob("unasked"), 2)
		uids := []string{one.UID, none.UID, two.UID}
		for _, test := range []struct{ limit, timed int }{{5, 3}, {5, 5}, {100, 4}, {4, 0}, {1, 1}, {9, 9}} {
			got, err := h.store.LatestMarks(h.ctx, uids, test.limit, test.timed)
			h.must("latest marks", err)
			same(h.T, "marks", got, map[string][]engine.RunMark{
				one.UID: marksOf(ones[:min(test.limit, 9)], test.timed), two.UID: marksOf(twos[:min(test.limit, 3)], test.timed),
			})
		}
		got, err := h.store.LatestMarks(h.ctx, nil, 5, 5)
		h.must("latest marks of no job", err)
		same(h.T, "marks of no job", got, map[string][]engine.RunMark{})
	}},
	{"a run that is resumed after it has ended is marked once, as it is now", func(h *harness) {
		job := aJob("again")
		runs := h.lives(job, 6)
		again := runs[3].Clone()
		again.FinishedAt = time.Time{}
		again = queued(again)
		h.commitRuns(again)
		runs[3] = again
		got, err := h.store.LatestMarks(h.ctx, []string{job.UID}, 5, 5)
		h.must("latest marks", err)
		same(h.T, "marks", got[job.UID], marksOf(runs[:5], 5))
	}},
	{"the runs of a job within windows, the newest of each", func(h *harness) {
		job := aJob("windows")
		runs := h.lives(job, 12)
		h.lives(aJob("other"), 3)
		windows := []engine.Window{
			{From: runs[3].CreatedAt, Until: runs[0].CreatedAt.Add(time.Millisecond)},
			{From: runs[11].CreatedAt.Add(-time.Hour), Until: runs[11].CreatedAt},
			{From: runs[8].CreatedAt, Until: runs[5].CreatedAt},
			{From: runs[11].CreatedAt, Until: runs[0].CreatedAt},
		}
		for _, limit := range []int{100, 4} {
			got, err := h.store.MarksWithin(h.ctx, job.UID, windows, limit)
			h.must("marks within", err)
			want := [][]engine.RunMark{marksOf(runs[:4], 0), {}, marksOf(runs[6:9], 0), marksOf(runs[1:12][:min(11, limit)], 0)}
			same(h.T, "marks", got, want)
		}
	}},
	{"what is upcoming comes by pages, the earliest first", func(h *harness) {
		var tasks, want []engine.ScheduledTask
		for i := range 10 {
			tasks = append(tasks, aTask(aJob("job"+string(rune('a'+i))), noon.Add(time.Duration(i/3)*time.Minute)))
		}
		want = tasks
		parked, elsewhere := aTask(aJob("parked"), engine.Parked), aTask(aJob("elsewhere"), noon)
		elsewhere.Namespace = "other"
		h.putTasks(append([]engine.ScheduledTask{parked, elsewhere}, tasks...)...)
		for _, limit := range []int{1, 2, 3, 10, 50} {
			var got []engine.ScheduledTask
			for cursor, pages := "", 0; ; pages++ {
				some, next, err := h.store.UpcomingPage(h.ctx, namespace, cursor, limit)
				h.must("upcoming", err)
				if len(some) > limit || pages > 20 {
					h.Fatalf("page %d has %d tasks for a limit of %d", pages, len(some), limit)
				}
				got = append(got, some...)
				if cursor = next; next == "" {
					break
				}
			}
			same(h.T, "tasks", got, want)
		}
	}},
}
