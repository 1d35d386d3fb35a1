package ui

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	dagsPerPage = 50
	// dagsSorted is how many DAGs, by name, are looked at for an order or a state that no index answers.
	dagsSorted   = 200
	wavesInStrip = 20
)

// The states that the list of DAGs is narrowed to.
const (
	dagsRunning = "running"
	dagsFailing = "failing"
	dagsPaused  = "paused"
)

var (
	dagStates = []templates.Option{{Value: dagsRunning, Name: "running"}, {Value: dagsFailing, Name: "failing"}, {Value: dagsPaused, Name: "paused"}}
	dagOrders = []string{"name", "next", "last", "failures"}
)

func (u *UI) dagList(c echo.Context) error {
	view := templates.DAGs{Page: u.page(c, templates.SectionDAGs, "DAGs"), Live: here(c)}
	form := templates.DAGFilter{Text: c.QueryParam("q"), State: c.QueryParam("state"), Order: c.QueryParam("order"), States: dagStates}
	if form.State != "" && !slices.ContainsFunc(dagStates, func(option templates.Option) bool { return option.Value == form.State }) {
		view.Problem, form.State = "The state is unknown and was ignored.", ""
	}
	if form.Order != "" && !slices.Contains(dagOrders, form.Order) {
		view.Problem, form.Order = "The order is unknown and was ignored.", ""
	}
	view.Filter = form
	query := service.DAGQuery{Namespace: namespaceOf(c.Request().Context()), Text: form.Text, Paused: form.State == dagsPaused, Cursor: c.QueryParam("cursor"), Limit: dagsPerPage}
	sorted := form.Order != "" && form.Order != "name" || form.State == dagsRunning || form.State == dagsFailing
	if sorted {
		query.Limit, query.Cursor = dagsSorted, ""
	}
	ctx := c.Request().Context()
	list, err := u.service.ListDAGs(ctx, query)
	if errors.Is(err, engine.ErrCursor) {
		view.Problem = "That page of the list no longer exists; this is the first page."
		query.Cursor = ""
		list, err = u.service.ListDAGs(ctx, query)
	}
	if err != nil {
		return err
	}
	entries, err := u.dagEntries(ctx, &list)
	if err != nil {
		return err
	}
	if sorted {
		entries = narrowDAGs(entries, form)
		if list.Next != "" {
			view.Partial = dagsSorted
		}
	} else {
		view.Pager = pager(c, query.Cursor, list.Next)
	}
	for i := range entries {
		view.Rows = append(view.Rows, viewDAGRow(&entries[i]))
	}
	return u.show(c, templates.DAGsPage(view), templates.DAGsPart(view))
}

// dagEntry is a DAG with what the list says of it.
type dagEntry struct {
	dag     *engine.DAG
	history service.WaveHistory
	next    time.Time
}

func (u *UI) dagEntries(ctx context.Context, list *service.DAGPage) ([]dagEntry, error) {
	histories, err := u.service.Histories(ctx, list.DAGs, wavesInStrip)
	if err != nil {
		return nil, err
	}
	entries := make([]dagEntry, len(list.DAGs))
	for i := range list.DAGs {
		entries[i] = dagEntry{dag: &list.DAGs[i], history: histories[i], next: list.NextSlots[list.DAGs[i].UID]}
	}
	return entries, nil
}

// narrowDAGs leaves those of a state, in an order that no index knows.
func narrowDAGs(entries []dagEntry, form templates.DAGFilter) []dagEntry {
	entries = slices.DeleteFunc(entries, func(e dagEntry) bool {
		switch form.State {
		case dagsRunning:
			return !slices.ContainsFunc(e.history.Waves, func(wave engine.Wave) bool { return wave.Status == engine.StatusRunning })
		case dagsFailing:
			return e.history.Failures == 0
		}
		return false
	})
	slices.SortStableFunc(entries, func(a, b dagEntry) int {
		switch form.Order {
		case "next":
			if a.next.IsZero() != b.next.IsZero() {
				return cmp.Compare(b.next.Unix(), a.next.Unix()) // those without one come last
			}
			return a.next.Compare(b.next)
		case "last":
			return b.lastAt().Compare(a.lastAt())
		case "failures":
			return cmp.Compare(b.history.Ended-b.history.Succeeded, a.history.Ended-a.history.Succeeded)
		}
		return strings.Compare(a.dag.Name, b.dag.Name)
	})
	return entries
}

func (e *dagEntry) lastAt() time.Time {
	if len(e.history.Waves) == 0 {
		return time.Time{}
	}
	return e.history.Waves[0].CreatedAt
}

func viewDAGRow(entry *dagEntry) templates.DAGRow {
	dag := entry.dag
	row := templates.DAGRow{
		Name: dag.Name, Description: readable([]byte(dag.Spec.Description)), Tasks: len(dag.Spec.Tasks), Next: entry.next, Paused: dag.Paused,
		Failures: entry.history.Failures, Strip: viewWaveMarks(entry.history.Waves), RateOf: entry.history.Ended,
	}
	if _, roots, more := strings.Cut(dag.Spec.Summary(), "; "); more {
		row.Schedule = strings.ReplaceAll(roots, "; ", " · ")
	} else {
		row.Schedule = "manual only"
	}
	for _, key := range sortedKeys(dag.Spec.Labels) {
		row.Labels = append(row.Labels, key+"="+dag.Spec.Labels[key])
	}
	if row.RateOf > 0 {
		row.Rate = rate(entry.history.Succeeded, entry.history.Ended)
	}
	row.Trend, row.Took = waveTrend(entry.history.Waves)
	return row
}
