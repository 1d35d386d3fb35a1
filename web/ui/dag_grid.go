package ui

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	wavesInGrid = 25
	tasksInGrid = 40
	// talliesKept is of how many waves that have ended the counts of items stay in memory.
	talliesKept = 400
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
	view.Waves = gridWaves(waves)
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
	items, err := u.itemTallies(ctx, dag, tasks, waves)
	if err != nil {
		return nil, err
	}
	rows := make([]templates.GridRow, 0, len(tasks))
	for _, task := range tasks {
		name := dag.Spec.Tasks[task].Name
		row := templates.GridRow{Task: name}
		took := make([]time.Duration, len(waves))
		for i := range waves {
			if run, known := runs[engine.TaskRunID(waves[i].ID, name)]; known && run.Status.Terminal() && !run.StartedAt.IsZero() {
				took[i] = waves[i].Worked(run.StartedAt, run.FinishedAt)
			} else if tally := items[waves[i].ID][name]; tally != nil {
				took[i] = tally.took
			}
			row.Cells = append(row.Cells, gridCell(&waves[i], name, runs, items[waves[i].ID][name]))
		}
		if longest := slices.Max(append(took, 0)); longest > 0 {
			for i := range row.Cells {
				row.Cells[i].Share = float64(took[i]) / float64(longest)
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// gridWaves are the columns: when each wave began, and how long it took against the longest.
func gridWaves(waves []engine.Wave) []templates.GridWave {
	view := make([]templates.GridWave, len(waves))
	var longest time.Duration
	for i := range waves {
		longest = max(longest, waveTook(&waves[i]))
	}
	for i := range waves {
		wave, took := &waves[i], waveTook(&waves[i])
		words := fmt.Sprintf("wave %d, %s", wave.Epoch, wave.Status)
		if took > 0 {
			words += ", took " + templates.Span(took)
		}
		view[i] = templates.GridWave{ID: wave.ID, Epoch: wave.Epoch, Status: wave.Status.String(), Words: words, Began: wave.StartedAt}
		if longest > 0 {
			view[i].Share = float64(took) / float64(longest)
		}
		view[i].NewDay = i == 0 || !sameDay(waves[i-1].StartedAt, wave.StartedAt)
	}
	return view
}

func sameDay(a, b time.Time) bool {
	return a.UTC().Truncate(24 * time.Hour).Equal(b.UTC().Truncate(24 * time.Hour))
}

func gridCell(wave *engine.Wave, task string, runs map[string]engine.Run, tally *itemTally) templates.GridCell {
	place := fmt.Sprintf("%s in wave %d: ", task, wave.Epoch)
	run, known := runs[engine.TaskRunID(wave.ID, task)]
	if tally != nil && (!known || run.Status == engine.StatusScheduled) {
		return templates.GridCell{
			State: tally.state(), Count: tally.count(), Words: place + tally.words(),
			Href:  "/waves/" + wave.ID + "?unfold=" + url.QueryEscape(task) + "#task-" + task,
			Panel: taskAddress(wave.ID, task, ""),
		}
	}
	if !known {
		cell := templates.GridCell{Words: place + "nothing"}
		if !wave.Status.Terminal() {
			cell.State, cell.Words = "waiting", place+"waiting"
		}
		return cell
	}
	cell := templates.GridCell{State: run.Status.String(), Href: "/runs/" + run.ID, Panel: taskAddress(wave.ID, task, "")}
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

// itemTally counts the items of a mapped task in a wave.
type itemTally struct {
	succeeded, failed, open, other int
	took                           time.Duration // from the first item to the last, where all have ended
}

// tallies keeps how the items of waves ended: that changes only with the revision of a wave. It is safe for concurrent
// use; the zero value is ready.
type tallies struct {
	mu   sync.Mutex
	kept map[string]waveTally
}

// waveTally is of a wave of a revision, by the names of mapped tasks.
type waveTally struct {
	revision int64
	of       map[string]*itemTally
}

// itemTallies counts the items of mapped tasks, by wave and task. A wave of which no definition and no run is kept has none.
func (u *UI) itemTallies(ctx context.Context, d *engine.DAG, tasks []int, waves []engine.Wave) (map[string]map[string]*itemTally, error) {
	if !slices.ContainsFunc(tasks, func(task int) bool { return d.Spec.Tasks[task].ForEach != "" }) {
		return nil, nil
	}
	found := make(map[string]map[string]*itemTally, len(waves))
	for i := range waves {
		wave := &waves[i]
		if of, known := u.tallies.find(wave); known {
			found[wave.ID] = of
			continue
		}
		detail, err := u.wave(ctx, wave.ID)
		var known *service.Error
		if errors.As(err, &known) && known.Kind == service.KindNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		of := map[string]*itemTally{}
		for at := range detail.Tasks {
			if items := detail.Tasks[at].Items; items != nil {
				of[detail.Tasks[at].Name] = &itemTally{
					succeeded: items.Succeeded, failed: items.Failed, open: items.Running + items.Waiting, other: items.Cancelled + items.Skipped,
				}
				if !detail.Tasks[at].Finished.IsZero() {
					of[detail.Tasks[at].Name].took = detail.Tasks[at].Took(detail.Tasks[at].Finished)
				}
			}
		}
		found[wave.ID] = of
		if detail.Wave.Status.Terminal() {
			u.tallies.keep(&detail.Wave, of)
		}
	}
	return found, nil
}

func (t *tallies) find(wave *engine.Wave) (map[string]*itemTally, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known, ok := t.kept[wave.ID]
	return known.of, ok && known.revision == wave.Revision
}

func (t *tallies) keep(wave *engine.Wave, of map[string]*itemTally) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept == nil || len(t.kept) >= talliesKept {
		t.kept = map[string]waveTally{} // the next look counts anew
	}
	t.kept[wave.ID] = waveTally{wave.Revision, of}
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

func (t *itemTally) count() string { return strconv.Itoa(t.succeeded + t.failed + t.open + t.other) }

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
