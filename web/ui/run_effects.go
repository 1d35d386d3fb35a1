package ui

import (
	"context"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
)

// shownEffects are shown of a run's effects.
const shownEffects = 100

// viewEffects shows what a run's program does once. Most runs have nothing of that, and those that never began cannot.
func (u *UI) viewEffects(ctx context.Context, run *engine.Run) (templates.Effects, error) {
	view := templates.Effects{Run: run.ID}
	if len(run.Attempts) == 0 {
		return view, nil
	}
	effects, next, err := u.service.RunEffects(ctx, namespaceOf(ctx), run.ID, "", shownEffects)
	if err != nil {
		return view, err
	}
	view.More = next != ""
	for i := range effects {
		effect := &effects[i]
		row := templates.EffectRow{
			Key: effect.Key, Done: effect.State == engine.EffectDone, Attempt: effect.Attempt, At: effect.OpenedAt,
		}
		if row.Done {
			row.At = effect.DoneAt
		} else {
			row.Unsure = effect.Attempt != run.Attempt || run.Status != engine.StatusRunning && run.Status != engine.StatusQueued
		}
		if len(effect.Result) > 0 {
			row.Result = valueWords(effect.Key, effect.Result)
		}
		view.Rows = append(view.Rows, row)
	}
	return view, nil
}
