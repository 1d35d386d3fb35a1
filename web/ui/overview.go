package ui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	// counted is how far unfinished runs are looked at to list the most urgent.
	counted = 100
	// listed is how many of each are listed there.
	listedRunning, listedNext, listedFinished, listedConcerns = 10, 6, 6, 12
)

func (u *UI) overview(c echo.Context) error {
	ctx := c.Request().Context()
	view := templates.Overview{Page: u.page(c, templates.SectionOverview, "Overview")}
	now, err := u.service.Overview(ctx, namespaceOf(ctx))
	if err != nil {
		return err
	}
	window := overviewWindow(u.now().Truncate(time.Minute)) // the chart stands still between
	tides, err := u.service.Tides(ctx, namespaceOf(ctx), window, overviewBucket)
	if err != nil {
		return err
	}
	unfinished, err := u.unfinished(ctx)
	if err != nil {
		return err
	}
	view.Running = u.viewLiving(ctx, unfinished[:min(len(unfinished), listedRunning)])
	finished, _, err := u.service.Runs(ctx, engine.RunFilter{Namespace: namespaceOf(ctx), Statuses: terminal(), Limit: listedFinished})
	if err != nil {
		return fmt.Errorf("list ended runs: %w", err)
	}
	slices.SortStableFunc(finished, func(a, b engine.Run) int { return b.FinishedAt.Compare(a.FinishedAt) })
	view.Finished = viewRuns(finished)
	upcoming, err := u.service.Upcoming(ctx, namespaceOf(ctx), listedNext)
	if err != nil {
		return fmt.Errorf("list what comes next: %w", err)
	}
	for i := range upcoming {
		view.Next = append(view.Next, templates.Upcoming{Job: upcoming[i].Job, Slot: upcoming[i].Slot})
	}
	if len(unfinished)+len(finished)+len(upcoming) == 0 {
		jobs, _, err := u.service.Jobs.List(ctx, engine.DefinitionFilter{Namespace: namespaceOf(ctx), Limit: 1})
		if err != nil {
			return fmt.Errorf("list jobs: %w", err)
		}
		view.NoJobs = len(jobs) == 0
	}
	if now.Troubled != nil {
		view.Troubles = append(view.Troubles, "The queue does not answer: the executors are unknown. "+now.Troubled.Error())
	}
	view.Tiles = overviewTiles(&now)
	if err := u.overviewConcerns(c, now.Concerns, &view); err != nil {
		return err
	}
	view.Tides = viewTides(&tides, window, zone(c), runsWithin)
	jobs, err := u.jobPages().favouriteRows(ctx)
	if err != nil {
		return err
	}
	dags, err := u.dagPages().favouriteRows(ctx)
	if err != nil {
		return err
	}
	view.Favourites = slices.Concat(jobs, dags)
	return u.show(c, templates.OverviewPage(view), templates.OverviewPart(view))
}

// unfinished lists what runs, waits or is to be tried again: what runs first. Runs that are prepared for a slot to
// come are none of these.
func (u *UI) unfinished(ctx context.Context) ([]engine.Run, error) {
	runs, _, err := u.service.Runs(ctx, engine.RunFilter{
		Namespace: namespaceOf(ctx), Limit: counted,
		Statuses: []engine.Status{engine.StatusScheduled, engine.StatusQueued, engine.StatusRunning, engine.StatusRetrying},
	})
	if err != nil {
		return nil, fmt.Errorf("list running runs: %w", err)
	}
	runs = slices.DeleteFunc(runs, func(r engine.Run) bool {
		return r.Status == engine.StatusScheduled && !r.Waiting
	})
	slices.SortStableFunc(runs, func(a, b engine.Run) int { return cmp.Compare(urgency(a.Status), urgency(b.Status)) })
	return runs, nil
}

func urgency(status engine.Status) int {
	return slices.Index([]engine.Status{engine.StatusRunning, engine.StatusRetrying, engine.StatusQueued, engine.StatusScheduled}, status)
}

func overviewTiles(now *service.Overview) []templates.Tile {
	running, queued := now.Now[engine.StatusRunning], now.Now[engine.StatusQueued]
	failed := now.Now.Sum(bad...)
	retrying := now.Now[engine.StatusRetrying]
	tiles := []templates.Tile{
		{Name: "running", Value: tally(running), Href: "/runs?status=running", Tone: tone(running.N > 0, "busy")},
		{Name: "queued", Value: tally(queued), Href: "/runs?status=queued"},
		{Name: "late", Value: tally(now.Late), Href: "/runs?status=queued", Tone: tone(now.Late.N > 0, "warn"), Note: "queued for more than " + service.LateAfter.String()},
		{Name: "failed in 24 hours", Value: tally(failed), Href: "/runs?status=bad&since=24h", Tone: tone(failed.N > 0, "bad")},
	}
	if now.Dead.N > 0 {
		tiles = append(tiles, templates.Tile{Name: "dead letters", Value: tally(now.Dead), Href: "/dead-letters", Tone: "bad"})
	}
	if retrying.N > 0 {
		tiles[1].Note = tally(retrying) + " to be tried again"
	}
	if now.Troubled != nil {
		return tiles
	}
	slots, busy, alive := 0, 0, 0
	for i := range now.Executors {
		if e := &now.Executors[i]; !e.Silent {
			alive++
			slots += e.Slots
			busy += len(e.Running)
		}
	}
	var tiers []string
	for _, depth := range now.Queues {
		if depth.Waiting > 0 {
			tiers = append(tiers, fmt.Sprintf("%d %s %s", depth.Waiting, depth.Tier, depth.Class))
		}
	}
	if len(tiers) > 0 {
		tiles[1].Note = strings.Join(tiers, ", ")
	}
	level := 0.0
	if slots > 0 {
		level = float64(busy) / float64(slots)
	}
	return append(tiles, templates.Tile{
		Name: templates.Plural(int64(alive), "executor", "executors") + ", slots busy", Value: fmt.Sprintf("%d of %d", busy, slots),
		Href: "/executors", Tone: tone(alive == 0, "bad"), Level: level,
	})
}

// tally is a count in words: "2000+" where counting stopped.
func tally(t engine.Tally) string { return many(t.N, t.More) }

func tone(is bool, name string) string {
	if is {
		return name
	}
	return ""
}
