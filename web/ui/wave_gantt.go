package ui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// ganttRows is how many tasks a chart of times shows: those of the critical path first, then those that took longest.
const ganttRows = 60

// gantt draws when the tasks of a wave waited and ran.
func (u *UI) gantt(ctx context.Context, detail *service.WaveDetail, critical map[int]bool) (templates.Gantt, error) {
	now := u.now()
	var begun []int
	for i := range detail.Tasks {
		if task := &detail.Tasks[i]; !task.Started.IsZero() || task.Status == engine.StatusRunning || task.Status == engine.StatusQueued {
			begun = append(begun, i)
		}
	}
	if len(begun) == 0 {
		return templates.Gantt{}, nil
	}
	all := len(begun)
	if all > ganttRows {
		slices.SortStableFunc(begun, func(a, b int) int {
			if critical[a] != critical[b] {
				if critical[a] {
					return -1
				}
				return 1
			}
			return cmp.Compare(detail.Tasks[b].Took(now), detail.Tasks[a].Took(now))
		})
		begun = begun[:ganttRows]
	}
	var ids []string
	for _, task := range begun {
		if run := detail.Tasks[task].Run; run != "" {
			ids = append(ids, run)
		}
	}
	runs, err := u.service.RunsOf(ctx, namespaceOf(ctx), ids)
	if err != nil {
		return templates.Gantt{}, err
	}
	scale := newScale(detail, now)
	type line struct {
		row   templates.GanttRow
		begin time.Time
	}
	lines := make([]line, 0, len(begun))
	for _, at := range begun {
		row, begin := scale.row(detail, at, runs)
		row.Critical = critical[at]
		if row.Critical {
			row.Words += ", on the critical path"
		}
		lines = append(lines, line{row, begin})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return a.begin.Compare(b.begin) })
	view := templates.Gantt{Ticks: scale.ticks(), Words: fmt.Sprintf("When %s waited and ran, in %s", templates.Plural(int64(len(lines)), "task", "tasks"), templates.Span(scale.span))}
	for _, l := range lines {
		view.Rows = append(view.Rows, l.row)
	}
	if all > len(lines) {
		view.Note = fmt.Sprintf("%d of the %d tasks that have begun: those of the critical path, and those that took longest.", len(lines), all)
	}
	return view, nil
}

// scale turns instants into places of the chart.
type scale struct {
	from time.Time
	span time.Duration
	now  time.Time
	wave *engine.Wave // what it rested before it was resumed is left out of the chart
}

func newScale(detail *service.WaveDetail, now time.Time) scale {
	s := scale{from: detail.Wave.StartedAt, now: now, wave: &detail.Wave}
	to := detail.Wave.FinishedAt
	if !detail.Wave.Status.Terminal() {
		to = now
	}
	for i := range detail.Tasks {
		task := &detail.Tasks[i]
		if !task.Started.IsZero() && (s.from.IsZero() || task.Started.Before(s.from)) {
			s.from = task.Started
		}
		if task.Finished.After(to) {
			to = task.Finished
		}
	}
	s.span = max(s.wave.Worked(s.from, to), time.Millisecond)
	return s
}

func (s scale) at(t time.Time) float64 {
	return min(max(float64(s.wave.Worked(s.from, t))/float64(s.span), 0), 1)
}

// ticks are lines at round spans.
func (s scale) ticks() []templates.GanttTick {
	steps := []time.Duration{
		time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
		100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
		30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour,
		12 * time.Hour, 24 * time.Hour, 48 * time.Hour,
	}
	const most = 6
	step := steps[len(steps)-1]
	for _, one := range steps {
		if s.span/one <= most {
			step = one
			break
		}
	}
	for s.span/step > most {
		step *= 2
	}
	var ticks []templates.GanttTick
	for at := step; at < s.span; at += step {
		ticks = append(ticks, templates.GanttTick{At: float64(at) / float64(s.span), Words: templates.Span(at)})
	}
	return ticks
}

// row draws one task: each attempt with its wait, or a mapped task from its first item to its last.
func (s scale) row(detail *service.WaveDetail, at int, runs map[string]engine.Run) (row templates.GanttRow, begin time.Time) {
	task := &detail.Tasks[at]
	row = templates.GanttRow{Task: task.Name, Run: task.Run, State: stateName(task)}
	if took := task.Took(s.now); took > 0 {
		row.Took = templates.Span(took)
	}
	row.Words = task.Name + ": " + row.State
	if row.Took != "" {
		row.Words += ", " + row.Took
	}
	begin = task.Started
	run, known := runs[task.Run]
	if !known {
		end := task.Finished
		if end.IsZero() {
			end = s.now
		}
		row.Bars = []templates.GanttBar{{From: s.at(task.Started), To: s.at(end), Status: row.State}}
		return row, begin
	}
	for i := range run.Attempts {
		attempt := &run.Attempts[i]
		start, end := attempt.StartedAt, attempt.FinishedAt
		if start.IsZero() {
			start = attempt.ClaimedAt
		}
		if end.IsZero() {
			end = s.now
		}
		waited := start
		if start.IsZero() {
			waited = end
		}
		if !attempt.QueuedAt.IsZero() {
			if begin.IsZero() || attempt.QueuedAt.Before(begin) {
				begin = attempt.QueuedAt
			}
			row.Bars = append(row.Bars, templates.GanttBar{From: s.at(attempt.QueuedAt), To: s.at(waited)})
			if i == 0 && waited.Sub(attempt.QueuedAt) > time.Millisecond {
				row.Words += ", " + templates.Span(waited.Sub(attempt.QueuedAt)) + " in the queue"
			}
		}
		if !start.IsZero() {
			row.Bars = append(row.Bars, templates.GanttBar{From: s.at(start), To: s.at(end), Status: attempt.Status.String()})
		}
	}
	if len(run.Attempts) > 1 {
		row.Words += fmt.Sprintf(", %d attempts", len(run.Attempts))
	}
	return row, begin
}
