package ui

import (
	"cmp"
	"context"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
)

func (u *UI) executorList(c echo.Context) error {
	ctx := c.Request().Context()
	view := templates.Executors{Page: u.page(c, templates.SectionExecutors, "Executors and queues")}
	u.addPresence(ctx, &view)
	depths, err := u.service.Queues(ctx)
	if err != nil {
		view.Troubles = append(view.Troubles, "The queues do not answer: "+err.Error())
	}
	for _, d := range depths {
		view.Queues = append(view.Queues, templates.QueueRow{
			Tier: string(d.Tier), Class: string(d.Class), Waiting: d.Waiting, Claimed: d.Claimed, Pulls: d.Pulls, Oldest: d.Oldest,
		})
	}
	return u.show(c, templates.ExecutorsPage(view), templates.ExecutorsPart(view))
}

// addPresence adds who is alive. A queue that does not answer is said, and is no reason to show nothing.
func (u *UI) addPresence(ctx context.Context, view *templates.Executors) {
	executors, err := u.service.Executors(ctx)
	if err != nil {
		view.Troubles = append(view.Troubles, "Who is alive is not known now: "+err.Error())
		return
	}
	slices.SortFunc(executors, func(a, b engine.Presence) int { return cmp.Compare(a.ID, b.ID) })
	for i := range executors {
		e := &executors[i]
		row := templates.ExecutorRow{
			ID: e.ID, Host: e.Host, Version: e.Version, Tiers: tierWords(e.Tiers), Slots: e.Slots, Draining: e.Draining, Since: e.Since, Seen: e.Seen,
		}
		for _, r := range e.Running {
			row.Running = append(row.Running, templates.ExecutorRun{Run: r.Run, Job: r.Job, Since: r.Since})
		}
		slices.SortFunc(row.Running, func(a, b templates.ExecutorRun) int { return a.Since.Compare(b.Since) })
		view.Rows = append(view.Rows, row)
	}
}
