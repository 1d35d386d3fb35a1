package ui

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
)

// leastShare is the least width of a phase in the chart, in percent: one that took no time to speak of is still seen.
const leastShare = 0.3

// phases cuts the attempts of a run into stretches: until it was queued, in the queue, fetching the program, starting
// it, and running. While an attempt runs, the executor has reported only that it took it: the rest comes with its end.
func phases(run *engine.Run, now time.Time) [][]templates.Phase {
	all := make([][]templates.Phase, len(run.Attempts))
	begin, end := run.CreatedAt, now
	if !run.Slot.IsZero() {
		begin = run.Slot
	}
	if run.NotBefore.After(begin) {
		begin = run.NotBefore
	}
	for i := range run.Attempts {
		if q := run.Attempts[i].QueuedAt; !q.IsZero() && (q.Before(begin) || run.Trigger == engine.TriggerBackfill && i == 0) {
			begin = q
		}
	}
	if run.Status.Terminal() && !run.FinishedAt.IsZero() {
		end = run.FinishedAt
	}
	whole := end.Sub(begin)
	for i := range run.Attempts {
		a := &run.Attempts[i]
		since, waited := begin, "scheduling"
		if i > 0 {
			since, waited = run.Attempts[i-1].FinishedAt, "until the next attempt"
		} else if run.Trigger == engine.TriggerSchedule {
			waited = "scheduling"
		}
		all[i] = attemptPhases(a, since, waited)
		for j := range all[i] {
			phase := &all[i][j]
			if whole <= 0 {
				phase.Width = 100
				continue
			}
			phase.From = 100 * min(1, float64(phase.Since.Sub(begin))/float64(whole))
			stop := end
			if j+1 < len(all[i]) {
				stop = all[i][j+1].Since
			} else if !a.FinishedAt.IsZero() {
				stop = a.FinishedAt
			}
			phase.Width = max(leastShare, 100*float64(stop.Sub(phase.Since))/float64(whole))
			phase.From = max(0, min(phase.From, 100-leastShare))
			phase.Width = min(phase.Width, 100-phase.From)
		}
	}
	return all
}

// attemptPhases are the phases of one attempt; since is what it waited from.
func attemptPhases(a *engine.Attempt, since time.Time, waited string) (all []templates.Phase) {
	steps := []struct {
		at         time.Time
		kind, name string
	}{
		{since, "wait", waited},
		{a.QueuedAt, "queue", "in the queue"},
		{a.ClaimedAt, "fetch", "fetching the program"},
		{a.FetchedAt, "start", "starting"},
		{a.StartedAt, "run", "running"},
	}
	if a.FinishedAt.IsZero() && !a.ClaimedAt.IsZero() && a.StartedAt.IsZero() {
		steps[2].kind, steps[2].name = "run", "fetching, starting, running"
	}
	for _, step := range steps {
		if step.at.IsZero() {
			continue
		}
		if last := len(all) - 1; last >= 0 {
			took := step.at.Sub(all[last].Since)
			if took < 0 { // two machines' clocks
				step.at, took = all[last].Since, 0
			}
			all[last].Took = templates.Span(took)
		}
		all = append(all, templates.Phase{Kind: step.kind, Name: step.name, Since: step.at})
	}
	if last := len(all) - 1; last >= 0 && !a.FinishedAt.IsZero() {
		all[last].Took = templates.Span(max(0, a.FinishedAt.Sub(all[last].Since)))
	}
	return all
}
