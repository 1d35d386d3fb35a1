package ui

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
)

const (
	wavesInGrid = 25
	tasksInGrid = 40
	// itemsInGrid is how many runs of a mapped task are looked at for its row.
	itemsInGrid = 500
)

// dagGrid shows tasks by waves. It looks up runs by their ids, those of the page only.
func (u *UI) dagGrid(c echo.Context) error {
	ctx := c.Request().Context()
	dag, err := u.dagPages().read(c)
	if err != nil {
		return err
	}
	view := templates.Grid{Text: strings.TrimSpace(c.QueryParam("q")), Live: here(c)}
	view.Page, view.Head = u.dagPages().page(c, &dag, templates.TabGrid)
	histories, err := u.service.Histories(ctx, []engine.DAG{dag}, wavesInGrid)
	if err != nil {
		return err
	}
	waves := slices.DeleteFunc(histories[0].Waves, func(wave engine.Wave) bool { return wave.Epoch == 0 })
	slices.Reverse(waves)
	for i := range waves {
		wave := &waves[i]
		words := fmt.Sprintf("wave %d, %s", wave.Epoch, wave.Status)
		if took := waveTook(wave); took > 0 {
			words += ", took " + templates.Span(took)
		}
		view.Waves = append(view.Waves, templates.GridWave{ID: wave.ID, Epoch: wave.Epoch, Status: wave.Status.String(), Words: words})
	}
	var chosen []int
	for i := range dag.Spec.Tasks {
		if strings.Contains(strings.ToLower(dag.Spec.Tasks[i].Name), strings.ToLower(view.Text)) {
			chosen = append(chosen, i)
		}
	}
	from, _ := strconv.Atoi(c.QueryParam("from")) // what is no number asks for the first page
	from = min(max(from, 0), len(chosen))
	to := min(from+tasksInGrid, len(chosen))
	view.Shown = shownWords(from, to, len(chosen), len(dag.Spec.Tasks))
	view.Pager = gridPager(c, from, to, len(chosen))
	if view.Rows, err = u.gridRows(ctx, &dag, chosen[from:to], waves); err != nil {
		return err
	}
	for _, row := range view.Rows {
		for _, cell := range row.Cells {
			if cell.State != "" && !slices.Contains(view.Key, cell.State) {
				view.Key = append(view.Key, cell.State)
			}
		}
	}
	slices.Sort(view.Key)
	return u.show(c, templates.GridPage(view), templates.GridPart(view))
}

func gridPager(c echo.Context, from, to, all int) (pager templates.Pager) {
	at := func(from int) string {
		query := url.Values{"from": {strconv.Itoa(from)}}
		if text := c.QueryParam("q"); text != "" {
			query.Set("q", text)
		}
		return c.Request().URL.Path + "?" + query.Encode()
	}
	if from > 0 {
		pager.First = at(0)
	}
	if to < all {
		pager.Next = at(to)
	}
	return pager
}

func (u *UI) gridRows(ctx context.Context, dag *engine.DAG, tasks []int, waves []engine.Wave) ([]templates.GridRow, error) {
	var ids []string
	for _, task := range tasks {
		for i := range waves {
			ids = append(ids, engine.TaskRunID(waves[i].ID, dag.Spec.Tasks[task].Name))
		}
	}
	runs, err := u.service.RunsOf(ctx, namespaceOf(ctx), ids)
	if err != nil {
		return nil, err
	}
	rows := make([]templates.GridRow, 0, len(tasks))
	for _, task := range tasks {
		name := dag.Spec.Tasks[task].Name
		var items map[string]*itemTally
		if dag.Spec.Tasks[task].ForEach != "" {
			if items, err = u.itemTallies(ctx, dag, name); err != nil {
				return nil, err
			}
		}
		row := templates.GridRow{Task: name}
		for i := range waves {
			row.Cells = append(row.Cells, gridCell(&waves[i], name, runs, items))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func gridCell(wave *engine.Wave, task string, runs map[string]engine.Run, items map[string]*itemTally) templates.GridCell {
	place := fmt.Sprintf("%s in wave %d: ", task, wave.Epoch)
	run, known := runs[engine.TaskRunID(wave.ID, task)]
	if tally := items[wave.ID]; tally != nil && (!known || run.Status == engine.StatusScheduled) {
		return templates.GridCell{
			State: tally.state(), Count: tally.count(), Words: place + tally.words(),
			Href: "/waves/" + wave.ID + "?unfold=" + url.QueryEscape(task) + "#task-" + task,
		}
	}
	if !known {
		cell := templates.GridCell{Words: place + "nothing"}
		if !wave.Status.Terminal() {
			cell.State, cell.Words = "waiting", place+"waiting"
		}
		return cell
	}
	cell := templates.GridCell{State: run.Status.String(), Href: "/runs/" + run.ID}
	switch {
	case run.Status == engine.StatusSkipped && run.Upstream:
		cell.State = "upstream_failed"
	case run.Status == engine.StatusScheduled:
		cell.State = "waiting"
	}
	cell.Words = place + strings.ReplaceAll(cell.State, "_", " ")
	if run.Status.Terminal() && !run.StartedAt.IsZero() {
		cell.Words += ", took " + templates.Span(wave.Worked(run.StartedAt, run.FinishedAt))
	}
	if words := reason(&run); words != "" {
		cell.Words += ", " + readable([]byte(words))
	}
	return cell
}

// itemTally counts the items of a mapped task in a wave, as far as they were looked at.
type itemTally struct {
	succeeded, failed, open, other int
	more                           bool
}

func (u *UI) itemTallies(ctx context.Context, dag *engine.DAG, task string) (map[string]*itemTally, error) {
	runs, more, err := u.service.RunsOfTask(ctx, dag, task, itemsInGrid)
	if err != nil {
		return nil, err
	}
	tallies := map[string]*itemTally{}
	for i := range runs {
		run := &runs[i]
		if run.Item == nil {
			continue
		}
		tally := tallies[run.Wave]
		if tally == nil {
			tally = &itemTally{}
			tallies[run.Wave] = tally
		}
		switch {
		case run.Status == engine.StatusSucceeded:
			tally.succeeded++
		case slices.Contains(bad, run.Status):
			tally.failed++
		case !run.Status.Terminal():
			tally.open++
		default:
			tally.other++
		}
	}
	if more && len(runs) > 0 { // of the earliest wave some items may not have been looked at
		if tally := tallies[runs[len(runs)-1].Wave]; tally != nil {
			tally.more = true
		}
	}
	return tallies, nil
}

func (t *itemTally) state() string {
	switch {
	case t.open > 0:
		return "running"
	case t.failed > 0:
		return "failed"
	case t.succeeded > 0:
		return "succeeded"
	}
	return "cancelled"
}

func (t *itemTally) count() string { return many(t.succeeded+t.failed+t.open+t.other, t.more) }

func (t *itemTally) words() string {
	var parts []string
	for _, count := range []struct {
		n    int
		what string
	}{{t.failed, "failed"}, {t.open, "running"}, {t.succeeded, "succeeded"}, {t.other, "cancelled"}} {
		if count.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count.n, count.what))
		}
	}
	return t.count() + " items, " + strings.Join(parts, ", ")
}
