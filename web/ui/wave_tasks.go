package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/wave"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	tasksPerPage = 200
	itemsPerPage = 100
)

// fillTasks lists the tasks that the address asks for. Their runs are looked up by their ids, those of this page only.
func (u *UI) fillTasks(ctx context.Context, c echo.Context, detail *service.WaveDetail, critical map[int]bool, view *templates.Wave) error {
	chosen := chooseTasks(detail, view.Filter)
	from, _ := strconv.Atoi(c.QueryParam("from")) // what is no number asks for the first page
	from = min(max(from, 0), len(chosen))
	to := min(from+tasksPerPage, len(chosen))
	var ids []string
	for _, task := range chosen[from:to] {
		if run := detail.Tasks[task].Run; run != "" {
			ids = append(ids, run)
		}
	}
	runs, err := u.service.RunsOf(ctx, namespaceOf(ctx), ids)
	if err != nil {
		return err
	}
	unfold := c.QueryParam("unfold")
	for _, task := range chosen[from:to] {
		row := viewTask(detail, task, runs)
		row.Critical = critical[task]
		row.Open = row.Mapped && row.Name == unfold
		row.ItemsHref = itemsAddress(c, row.Name, row.Open)
		view.Tasks = append(view.Tasks, row)
		if row.Open {
			if view.Items, err = u.items(ctx, c, detail, task); err != nil {
				return err
			}
		}
	}
	view.Shown = shownWords(from, to, len(chosen), len(detail.Tasks))
	at := func(from int) string {
		query := c.Request().URL.Query()
		query.Del(noticeParameter)
		query.Set(tabParameter, "table")
		query.Set("from", strconv.Itoa(from))
		return "/waves/" + view.ID + "?" + query.Encode() + "#tasks"
	}
	if from > 0 {
		view.Pager.First = at(0)
	}
	if to < len(chosen) {
		view.Pager.Next = at(to)
	}
	return nil
}

// chooseTasks returns the tasks of a state, and whose names hold a text, in the order of the definition. A text that ends
// in a star names a beginning.
func chooseTasks(detail *service.WaveDetail, filter templates.WaveFilter) []int {
	text := strings.ToLower(filter.Text)
	prefix, begins := strings.CutSuffix(text, "*")
	var chosen []int
	for i := range detail.Tasks {
		task := &detail.Tasks[i]
		name := strings.ToLower(task.Name)
		switch {
		case filter.State != "" && task.State.String() != filter.State:
		case begins && !strings.HasPrefix(name, prefix), !begins && !strings.Contains(name, text):
		default:
			chosen = append(chosen, i)
		}
	}
	return chosen
}

func shownWords(from, to, chosen, all int) string {
	switch {
	case chosen == 0:
		return ""
	case from == 0 && to == chosen && chosen == all:
		return templates.Plural(int64(all), "task", "tasks")
	case from == 0 && to == chosen:
		return fmt.Sprintf("%d of %d", chosen, all)
	case chosen == all:
		return fmt.Sprintf("%d to %d of %d", from+1, to, all)
	}
	return fmt.Sprintf("%d to %d of %d that match, of %d", from+1, to, chosen, all)
}

func viewTask(detail *service.WaveDetail, at int, runs map[string]engine.Run) templates.TaskRow {
	task := &detail.Tasks[at]
	row := templates.TaskRow{
		Name: task.Name, State: stateName(task), Reason: readable([]byte(task.Reason)), Run: task.Run, Attempts: task.Attempt,
		Started: task.Started, Finished: task.Finished, Mapped: detail.Spec.Tasks[at].ForEach != "", CanMark: canMark(&detail.Wave, task),
	}
	if !task.Started.IsZero() && !task.Finished.IsZero() {
		row.Took = templates.Span(task.Took(task.Finished))
	}
	if task.Items != nil {
		row.Counts = itemCounts(task.Items)
	}
	run, known := runs[task.Run]
	if !known {
		row.Since = since(&detail.Wave, row.Started)
		return row
	}
	if row.Reason == "" && task.State.Ended() {
		row.Reason = readable([]byte(reason(&run)))
	}
	row.Artifacts, row.Outputs = len(run.Artifacts), outputWords(run.Outputs)
	if !run.Status.Terminal() {
		row.Progress = viewProgress(run.Progress)
		if row.Started.IsZero() && run.Status == engine.StatusRunning {
			row.Started = begun(&run)
		}
	}
	row.Since = since(&detail.Wave, row.Started)
	return row
}

// since is an instant of a wave, moved by how long the wave has rested after it: from when what goes on is counted.
func since(wave *engine.Wave, begun time.Time) time.Time {
	for _, rest := range wave.Rests {
		if !begun.IsZero() && begun.Before(rest.From) {
			begun = begun.Add(rest.To.Sub(rest.From))
		}
	}
	return begun
}

// canMark reports whether a task may be said to count otherwise; the service has the last word.
func canMark(wave *engine.Wave, task *service.WaveTask) bool {
	switch {
	case wave.Epoch == 0 || !task.State.Valid() || wave.Status == engine.StatusSucceeded:
		return false
	case wave.Status.Terminal():
		return task.State != dag.Succeeded && task.Items == nil
	}
	return task.State == dag.Waiting || task.State == dag.Ready
}

func itemCounts(items *wave.Items) []templates.WaveCount {
	var counts []templates.WaveCount
	for _, count := range []struct {
		state dag.State
		n     int
	}{
		{dag.Failed, items.Failed}, {dag.Running, items.Running}, {dag.Waiting, items.Waiting}, {dag.Succeeded, items.Succeeded},
		{dag.Skipped, items.Skipped}, {dag.Cancelled, items.Cancelled},
	} {
		if count.n > 0 {
			counts = append(counts, templates.WaveCount{State: count.state.String(), N: count.n})
		}
	}
	return counts
}

// outputWords are the first outputs of a task, in a line.
func outputWords(outputs json.RawMessage) string {
	const room = 60
	var values map[string]json.RawMessage
	if len(outputs) == 0 || json.Unmarshal(outputs, &values) != nil {
		return ""
	}
	names := map[string]string{}
	for name, value := range values {
		names[name] = string(value)
	}
	var words strings.Builder
	for _, name := range sortedKeys(names) {
		if words.Len() > 0 {
			words.WriteString(", ")
		}
		words.WriteString(name + "=" + names[name])
		if words.Len() > room {
			break
		}
	}
	runes := []rune(readable([]byte(words.String())))
	if len(runes) > room {
		return string(runes[:room]) + "…"
	}
	return string(runes)
}

func itemsAddress(c echo.Context, task string, open bool) string {
	query := c.Request().URL.Query()
	query.Del(noticeParameter)
	query.Del("items")
	query.Set(tabParameter, "table")
	query.Set("unfold", task)
	if open {
		query.Del("unfold")
	}
	address := c.Request().URL.Path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	return address + "#" + url.PathEscape("task-"+task)
}

// items lists the items of a mapped task, by pages: their runs have ids that are known.
func (u *UI) items(ctx context.Context, c echo.Context, detail *service.WaveDetail, at int) (*templates.TaskItems, error) {
	task := &detail.Tasks[at]
	view := &templates.TaskItems{Task: task.Name}
	if task.Items == nil {
		return view, nil
	}
	from, _ := strconv.Atoi(c.QueryParam("items")) // what is no number asks for the first page
	from = min(max(from, 0), task.Items.Total)
	to := min(from+itemsPerPage, task.Items.Total)
	var ids []string
	for item := from; item < to; item++ {
		ids = append(ids, engine.ItemRunID(detail.Wave.ID, item, task.Name))
	}
	runs, err := u.service.RunsOf(ctx, namespaceOf(ctx), ids)
	if err != nil {
		return nil, err
	}
	waiting := 0
	for i, id := range ids {
		run, known := runs[id]
		if !known {
			waiting++
			continue
		}
		row := templates.ItemRow{N: from + i, Run: id, Status: run.Status.String(), Reason: readable([]byte(reason(&run))), Attempts: run.Attempt}
		if run.Status.Terminal() && !run.StartedAt.IsZero() {
			row.Took = templates.Span(detail.Wave.Worked(run.StartedAt, run.FinishedAt))
		}
		view.Rows = append(view.Rows, row)
	}
	view.Shown = fmt.Sprintf("Items %d to %d of %d.", from, max(to-1, from), task.Items.Total)
	if waiting > 0 {
		view.Shown += fmt.Sprintf(" %d of these have not begun.", waiting)
	}
	if to < task.Items.Total {
		query := c.Request().URL.Query()
		query.Del(noticeParameter)
		query.Set("items", strconv.Itoa(to))
		view.Next = c.Request().URL.Path + "?" + query.Encode() + "#" + url.PathEscape("task-"+task.Name)
	}
	return view, nil
}
