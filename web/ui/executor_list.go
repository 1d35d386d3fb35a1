package ui

import (
	"fmt"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) executorList(c echo.Context) error {
	ctx := c.Request().Context()
	view := templates.Executors{Page: u.page(c, templates.SectionExecutors, "Executors and queues")}
	executors, err := u.service.Fleet(ctx)
	if err != nil {
		view.Troubles = append(view.Troubles, "The queue does not answer: who runs programs is not known now. "+err.Error())
		return u.show(c, templates.ExecutorsPage(view), templates.ExecutorsPart(view))
	}
	depths, err := u.service.Queues(ctx)
	if err != nil {
		view.Troubles = append(view.Troubles, "The queue does not answer: what waits is not known now. "+err.Error())
	}
	view.Shards = engine.Shards
	engines, err := u.service.Engines(ctx)
	if err != nil {
		view.Troubles = append(view.Troubles, "The queue does not answer: which engines are alive is not known now. "+err.Error())
	}
	view.Ownerless = engines.Ownerless
	for i := range engines.All {
		view.Engines = append(view.Engines, viewEngine(&engines.All[i]))
	}
	served := map[spec.Tier]int{}
	slots, busy, alive, silent := 0, 0, 0, 0
	for i := range executors {
		e := &executors[i]
		view.Rows = append(view.Rows, viewExecutor(e))
		if e.Silent {
			silent++
			continue
		}
		alive++
		slots += e.Slots
		busy += len(e.Running)
		for _, tier := range e.Tiers {
			if !e.Draining {
				served[tier]++
			}
		}
	}
	most := uint64(1)
	waiting := uint64(0)
	for _, depth := range depths {
		most = max(most, depth.Waiting)
		waiting += depth.Waiting
	}
	for _, depth := range depths {
		view.Queues = append(view.Queues, templates.QueueRow{
			Tier: string(depth.Tier), Class: string(depth.Class), Waiting: depth.Waiting, Claimed: depth.Claimed, Pulls: depth.Pulls, Oldest: depth.Oldest,
			Served: served[depth.Tier], Share: float64(depth.Waiting) / float64(most),
		})
	}
	if len(executors) > 0 {
		view.Tiles = []templates.Tile{
			{Name: "executors alive", Value: fmt.Sprint(alive), Href: "#who", Tone: tone(alive == 0, "bad")},
			{Name: "engines alive", Value: fmt.Sprint(len(view.Engines)), Href: "#engines", Tone: tone(len(view.Engines) == 0 && err == nil, "bad")},
			{Name: "slots busy", Value: fmt.Sprintf("%d of %d", busy, slots), Href: "/runs?status=running", Level: float64(busy) / float64(max(slots, 1))},
			{Name: "waiting in the queues", Value: fmt.Sprint(waiting), Href: "#queues"},
			{Name: "silent", Value: fmt.Sprint(silent), Href: "#who", Tone: tone(silent > 0, "bad"), Note: "vanished within the last hour"},
		}
	}
	return u.show(c, templates.ExecutorsPage(view), templates.ExecutorsPart(view))
}

func viewExecutor(e *service.Executor) templates.ExecutorRow {
	row := templates.ExecutorRow{ID: e.ID, Host: e.Host, Version: e.Version, Slots: e.Slots, State: "ready", Since: e.Since, Seen: e.Seen}
	switch {
	case e.Silent:
		row.State = "silent"
	case e.Draining && len(e.Running) == 0:
		row.State = "drained"
	case e.Draining:
		row.State = "draining"
	}
	if e.Draining && e.Drain != nil && e.Drain.Draining {
		row.DrainedBy, row.DrainedAt = e.Drain.By, e.Drain.At
	}
	for _, tier := range e.Tiers {
		row.Tiers = append(row.Tiers, string(tier))
	}
	running := slices.SortedFunc(slices.Values(e.Running), func(a, b engine.RunningAttempt) int { return a.Since.Compare(b.Since) })
	for _, run := range running {
		row.Running = append(row.Running, templates.ExecutorRun{Run: run.Run, Job: run.Job, Attempt: run.Attempt, Since: run.Since})
	}
	return row
}

func viewEngine(e *engine.EnginePresence) templates.EngineRow {
	row := templates.EngineRow{ID: e.ID, Host: e.Host, Version: e.Version, Shards: e.Shards, State: "ready", Since: e.Since, Seen: e.Seen}
	switch {
	case e.Leaving:
		row.State = "leaving"
	case e.Shards == 0:
		row.State = "waiting"
	}
	return row
}
