package ui

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/wave"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// waveGraph is how the tasks of a wave stand, and when they waited and ran.
func (u *UI) waveGraph(detail *service.WaveDetail, critical map[int]bool) templates.Graph {
	now := u.now()
	view := graphOf(detail.Wave.DAG, "/waves/"+detail.Wave.ID+"/task?name=", &detail.Spec, detail.Graph)
	scale := newScale(detail, now)
	view.Span = scale.at(scale.to)
	for i := range detail.Tasks {
		task, drawn := &detail.Tasks[i], &view.Tasks[i]
		drawn.State, drawn.Critical, drawn.Reason = stateName(task), critical[i], readable([]byte(task.Reason))
		view.See(drawn.State)
		if took := task.Took(now); took > 0 {
			drawn.Took = templates.Span(took)
		}
		if task.Items != nil {
			drawn.Items = viewItems(task.Items)
		}
		drawn.Bars = scale.bars(task, drawn.State)
		for _, bar := range drawn.Bars {
			if bar.State != "" {
				view.See(bar.State)
			}
		}
	}
	return view
}

func viewItems(items *wave.Items) *templates.GraphItems {
	return &templates.GraphItems{
		Total: items.Total, Succeeded: items.Succeeded, Failed: items.Failed, Running: items.Running, Other: items.Skipped + items.Cancelled,
	}
}

// scale turns instants into milliseconds that the wave had worked: what it rested before it was resumed is left out.
type scale struct {
	from, to time.Time
	now      time.Time
	wave     *engine.Wave
}

func newScale(detail *service.WaveDetail, now time.Time) scale {
	s := scale{from: detail.Wave.StartedAt, to: detail.Wave.FinishedAt, now: now, wave: &detail.Wave}
	if !detail.Wave.Status.Terminal() {
		s.to = now
	}
	for i := range detail.Tasks {
		task := &detail.Tasks[i]
		if !task.Started.IsZero() && (s.from.IsZero() || task.Started.Before(s.from)) {
			s.from = task.Started
		}
		if task.Finished.After(s.to) {
			s.to = task.Finished
		}
	}
	return s
}

func (s scale) at(t time.Time) int64 {
	if s.from.IsZero() || t.Before(s.from) {
		return 0
	}
	return s.wave.Worked(s.from, t).Milliseconds()
}

// bars are the attempts of a task, each with its wait; a mapped task is one, from its first item to its last.
func (s scale) bars(task *service.WaveTask, state string) (bars []templates.GraphBar) {
	until := func(t time.Time) int64 {
		if t.IsZero() {
			t = s.now
		}
		return s.at(t)
	}
	if len(task.Attempts) == 0 {
		if task.Started.IsZero() {
			return nil
		}
		return []templates.GraphBar{{From: s.at(task.Started), To: until(task.Finished), State: state}}
	}
	for i := range task.Attempts {
		attempt := &task.Attempts[i]
		start := attempt.StartedAt
		if start.IsZero() {
			start = attempt.ClaimedAt
		}
		end := attempt.FinishedAt
		if end.IsZero() && attempt.Status.Terminal() {
			end = task.Finished
		}
		if !attempt.QueuedAt.IsZero() {
			waited := start
			if waited.IsZero() {
				waited = end
			}
			bars = append(bars, templates.GraphBar{From: s.at(attempt.QueuedAt), To: until(waited)})
		}
		if !start.IsZero() {
			bars = append(bars, templates.GraphBar{From: s.at(start), To: until(end), State: attempt.Status.String()})
		}
	}
	return bars
}
