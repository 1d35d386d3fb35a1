package shard

import (
	"context"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
)

// effect does one of the core's effects. Publishing never waits; questions to the queue run in goroutines, a
// bounded number at a time.
func (r *Runner) effect(ctx context.Context, a Perform) {
	answer := func(event core.Event) { r.send(ctx, Answered{Seat: a.Seat, Event: event}) }
	switch e := a.Effect.(type) {
	case core.Publish:
		r.publish(ctx, a.Seat, e.Task)
	case core.Revoke:
		r.ask(ctx, func() {
			ok, err := r.queue.Revoke(ctx, e)
			r.report(ctx, "revoke an attempt", err)
			answer(core.AttemptRevoked{Run: e.Run, Attempt: e.Attempt, Revoked: ok, Failed: err != nil})
		})
	case core.Inspect:
		r.ask(ctx, func() {
			state, err := r.queue.Inspect(ctx, e)
			r.report(ctx, "inspect an attempt", err)
			answer(core.AttemptInspected{Run: e.Run, Attempt: e.Attempt, State: state, Failed: err != nil})
		})
	case core.DeclareLost:
		r.ask(ctx, func() {
			_, err := r.queue.DeclareLost(ctx, e.Shard, e.Run, e.Attempt, e.After)
			r.report(ctx, "declare an attempt lost", err) // the answer comes as a result; without one it is asked again
		})
	case core.Ask:
		r.ask(ctx, func() { r.report(ctx, "tell an executor to "+string(e.Kind), r.queue.Ask(ctx, e.Control)) })
	case core.Notify:
		r.bounded(ctx, r.notifications, func() {
			within, cancel := context.WithTimeout(ctx, notifyWithin)
			defer cancel()
			err := r.config.Notifier.Notify(within, e.Incident)
			r.report(ctx, "tell of an incident", err)
			answer(core.IncidentNotified{ID: e.ID, Since: e.Since, Over: !e.Over.IsZero(), Failed: err != nil})
		})
	case core.LookUpRuns:
		r.goDo(func() {
			for failures := 0; ctx.Err() == nil; failures++ {
				answered := r.pulse.await("look up runs", answerLost)
				found, err := r.loader.LookUp(ctx, e)
				answered()
				r.report(ctx, "look up runs", err)
				if err == nil {
					answer(found)
					return
				}
				r.pause(ctx, failures)
			}
		})
	}
}

func (r *Runner) publish(ctx context.Context, seat Seat, task *engine.Task) {
	lag := time.Duration(0)
	if task.Attempt == 1 && !task.Slot.IsZero() {
		lag = time.Since(task.Slot)
	}
	r.queue.Publish(task, func(err error) {
		if err == nil {
			r.observer.Published(task, lag)
			return
		}
		r.report(ctx, "publish a task", err)
		select { // this may be called after Run has returned, so it must not wait; a task of which no engine hears is inspected later
		case r.inputs <- Answered{Seat: seat, Event: core.TaskPublished{Run: task.Run, Attempt: task.Attempt, Failed: true}}:
		default:
		}
	})
}

// ask runs f once fewer than the bound of questions are under way.
func (r *Runner) ask(ctx context.Context, f func()) { r.bounded(ctx, r.slots, f) }

// bounded runs f once one of the slots is free.
func (r *Runner) bounded(ctx context.Context, slots chan struct{}, f func()) {
	r.goDo(func() {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			f()
		case <-ctx.Done():
		}
	})
}
