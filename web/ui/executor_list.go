package ui

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) executorList(c echo.Context) error {
	ctx := c.Request().Context()
	view := templates.Executors{Page: u.page(c, templates.SectionExecutors, "Executors and queues")}
	executors, err := u.service.Fleet(ctx)
	if err != nil {
		view.Troubles = append(view.Troubles, "The queue does not answer: the executors are unknown. "+err.Error())
		return u.show(c, templates.ExecutorsPage(view), templates.ExecutorsPart(view))
	}
	depths, err := u.service.ServedQueues(ctx)
	if err != nil {
		view.Troubles = append(view.Troubles, "The queue does not answer: the queue depths are unknown. "+err.Error())
	}
	view.Shards = engine.Shards
	engines, err := u.service.Engines(ctx)
	if err != nil {
		view.Troubles = append(view.Troubles, "The queue does not answer: the engines are unknown. "+err.Error())
	}
	view.Ownerless = engines.Ownerless
	for i := range engines.All {
		view.Engines = append(view.Engines, viewEngine(&engines.All[i]))
	}
	slots, busy, alive, silent := 0, 0, 0, 0
	for i := range executors {
		e := &executors[i]
		row := viewExecutor(e)
		row.LastOf = lastTiers(executors, e)
		view.Rows = append(view.Rows, row)
		if e.Silent {
			silent++
			continue
		}
		alive++
		slots += e.Slots
		busy += len(e.Running)
	}
	most := uint64(1)
	waiting := uint64(0)
	for i := range depths {
		most = max(most, depths[i].Waiting)
		waiting += depths[i].Waiting
	}
	for i := range depths {
		row := viewQueue(&depths[i])
		row.Share = float64(row.Waiting) / float64(most)
		view.Queues = append(view.Queues, row)
	}
	if len(executors) > 0 {
		view.Tiles = []templates.Tile{
			{Name: "executors alive", Value: fmt.Sprint(alive), Href: "#who", Tone: tone(alive == 0, "bad")},
			{Name: "engines alive", Value: fmt.Sprint(len(view.Engines)), Href: "#engines", Tone: tone(len(view.Engines) == 0 && err == nil, "bad")},
			{Name: "slots busy", Value: fmt.Sprintf("%d of %d", busy, slots), Href: "/runs?status=running", Level: float64(busy) / float64(max(slots, 1))},
			{Name: "waiting in the queues", Value: fmt.Sprint(waiting), Href: "#queues"},
			{Name: "silent", Value: fmt.Sprint(silent), Href: "#who", Tone: tone(silent > 0, "bad"), Note: "lost within the last hour"},
		}
	}
	return u.show(c, templates.ExecutorsPage(view), templates.ExecutorsPart(view))
}

// takesRuns reports whether an executor takes new runs.
func takesRuns(e *service.Executor) bool { return !e.Silent && !e.Draining }

// lastTiers names the tiers of which an executor is the only one that takes runs: "light and medium"; "" if there is none.
func lastTiers(all []service.Executor, one *service.Executor) string {
	if !takesRuns(one) {
		return ""
	}
	var tiers []string
	for _, tier := range one.Tiers {
		if !slices.ContainsFunc(all, func(e service.Executor) bool {
			return e.ID != one.ID && takesRuns(&e) && slices.Contains(e.Tiers, tier)
		}) {
			tiers = append(tiers, string(tier))
		}
	}
	if len(tiers) < 2 {
		return strings.Join(tiers, "")
	}
	return strings.Join(tiers[:len(tiers)-1], ", ") + " and " + tiers[len(tiers)-1]
}

func viewQueue(q *service.ServedQueue) templates.QueueRow {
	row := templates.QueueRow{
		Tier: string(q.Tier), Class: string(q.Class), Waiting: q.Waiting, Claimed: q.Claimed, Pulls: q.Pulls, Oldest: q.Oldest,
		Served: q.Serving, Busy: q.Busy, Slots: q.Slots,
	}
	for i := range q.Pools {
		p, s := &q.Pools[i], &q.Served[i]
		if p.Waiting == 0 { // who has the labels stands above
			continue
		}
		row.Pools = append(row.Pools, templates.PoolRow{
			Labels: labelList(p.RunsOn), Waiting: p.Waiting, Claimed: p.Claimed, Pulls: p.Pulls, Oldest: p.Oldest,
			Served: s.Serving, Busy: s.Busy, Slots: s.Slots, Unserved: s.Unserved,
		})
	}
	return row
}

func viewExecutor(e *service.Executor) templates.ExecutorRow {
	row := templates.ExecutorRow{ID: e.ID, Host: e.Host, Version: e.Version, Slots: e.Slots, State: "ready", Isolation: e.Isolation, Rights: string(e.Rights), Since: e.Since, Seen: e.Seen}
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
	if r := e.Refused; r != nil {
		row.Refused, row.RefusedWhy, row.RefusedAt = r.Count, r.Why, r.At
	}
	labels := maps.Clone(e.Labels)
	if labels["host"] == e.Host { // it stands beside it
		delete(labels, "host")
	}
	row.Labels = labelList(labels)
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
