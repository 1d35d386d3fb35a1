package ui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
)

const (
	// counted is how far things are counted on the overview; beyond it there is a "+".
	counted = 100
	// listed is how many of each are listed there.
	listedRunning, listedNext, listedFailed, listedFinished = 15, 8, 6, 10
)

func (u *UI) overview(c echo.Context) error {
	ctx := c.Request().Context()
	view := templates.Overview{Page: u.page(c, templates.SectionOverview, "Overview")}

	unfinished, moreUnfinished, err := u.unfinished(ctx)
	if err != nil {
		return err
	}
	view.Running = viewRuns(unfinished[:min(len(unfinished), listedRunning)])

	failed, moreFailed, err := u.service.Runs(ctx, engine.RunFilter{Namespace: namespace, Statuses: bad, Since: view.Page.Now.Add(-24 * time.Hour), Limit: counted})
	if err != nil {
		return fmt.Errorf("list failed runs: %w", err)
	}
	view.Failed = viewRuns(failed[:min(len(failed), listedFailed)])

	finished, _, err := u.service.Runs(ctx, engine.RunFilter{Namespace: namespace, Statuses: terminal(), Limit: listedFinished})
	if err != nil {
		return fmt.Errorf("list ended runs: %w", err)
	}
	slices.SortStableFunc(finished, func(a, b engine.Run) int { return b.FinishedAt.Compare(a.FinishedAt) })
	view.Finished = viewRuns(finished)

	upcoming, err := u.service.Upcoming(ctx, namespace, listedNext)
	if err != nil {
		return fmt.Errorf("list what comes next: %w", err)
	}
	for i := range upcoming {
		view.Next = append(view.Next, templates.Upcoming{Job: upcoming[i].Job, Slot: upcoming[i].Slot})
	}

	if len(unfinished)+len(finished)+len(upcoming) == 0 {
		jobs, _, err := u.service.Jobs(ctx, engine.JobFilter{Namespace: namespace, Limit: 1})
		if err != nil {
			return fmt.Errorf("list jobs: %w", err)
		}
		view.NoJobs = len(jobs) == 0
	}

	running := 0
	for i := range unfinished {
		if unfinished[i].Status == engine.StatusRunning {
			running++
		}
	}
	view.Tiles = []templates.Tile{
		{Name: "running", Value: many(running, moreUnfinished), Href: "/runs?status=running", Tone: tone(running > 0, "busy")},
		{Name: "waiting", Value: many(len(unfinished)-running, moreUnfinished), Href: "/runs?status=queued"},
		{Name: "failed in 24 hours", Value: many(len(failed), moreFailed != ""), Href: "/runs?status=bad&since=24h", Tone: tone(len(failed) > 0, "bad")},
	}
	u.addExecutors(ctx, &view)
	return u.show(c, templates.OverviewPage(view), templates.OverviewPart(view))
}

// unfinished lists what runs, waits or is to be tried again: what runs first. Runs that are prepared for a slot to
// come are none of these.
func (u *UI) unfinished(ctx context.Context) (runs []engine.Run, more bool, err error) {
	runs, next, err := u.service.Runs(ctx, engine.RunFilter{
		Namespace: namespace, Limit: counted,
		Statuses: []engine.Status{engine.StatusScheduled, engine.StatusQueued, engine.StatusRunning, engine.StatusRetrying},
	})
	if err != nil {
		return nil, false, fmt.Errorf("list running runs: %w", err)
	}
	runs = slices.DeleteFunc(runs, func(r engine.Run) bool {
		return r.Status == engine.StatusScheduled && !r.Waiting
	})
	slices.SortStableFunc(runs, func(a, b engine.Run) int { return cmp.Compare(urgency(a.Status), urgency(b.Status)) })
	return runs, next != "", nil
}

func urgency(status engine.Status) int {
	return slices.Index([]engine.Status{engine.StatusRunning, engine.StatusRetrying, engine.StatusQueued, engine.StatusScheduled}, status)
}

// addExecutors adds who works. Where the queue does not answer the rest of the page is still worth showing.
func (u *UI) addExecutors(ctx context.Context, view *templates.Overview) {
	executors, err := u.service.Executors(ctx)
	if err != nil {
		view.Troubles = append(view.Troubles, "The queue does not answer: who runs programs is not known now. "+err.Error())
		return
	}
	slots, busy := 0, 0
	for i := range executors {
		slots += executors[i].Slots
		busy += len(executors[i].Running)
	}
	view.Tiles = append(view.Tiles,
		templates.Tile{Name: templates.Plural(int64(len(executors)), "executor", "executors") + ", slots busy", Value: fmt.Sprintf("%d of %d", busy, slots), Href: "/executors", Tone: tone(len(executors) == 0, "bad")})
	if len(executors) == 0 {
		view.Troubles = append(view.Troubles, "No executor is alive: what is due waits until one comes.")
	}
}

func tone(is bool, name string) string {
	if is {
		return name
	}
	return ""
}
