package sim

import (
	"context"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// about returns which attempt an effect concerns.
func about(effect core.Effect) (run string, attempt int) {
	switch f := effect.(type) {
	case core.Publish:
		return f.Task.Run, f.Task.Attempt
	case core.Revoke:
		return f.Run, f.Attempt
	case core.Inspect:
		return f.Run, f.Attempt
	case core.DeclareLost:
		return f.Run, f.Attempt
	case core.Ask:
		return f.Run, f.Attempt
	case core.LookUpRuns:
		return f.Command.ID, 0
	case core.Notify:
		return f.ID, 0
	}
	return "", 0
}

// effect does one of the core's effects.
func (e *driver) effect(seat shard.Seat, effect core.Effect) {
	w := e.w
	run, attempt := about(effect)
	w.note("effect", run, name(effect)+" by "+e.group.name, int64(attempt))
	ask := func(question func() core.Event) {
		e.do(func(p *process, _ shard.Loader) shard.Input {
			// What it has published before arrives before: a connection keeps the order.
			if !p.sleep(max(w.between(100*time.Microsecond, 3*time.Millisecond), e.sentAt-w.elapsed)) {
				return nil
			}
			answer := question()
			if answer == nil || !p.sleep(w.between(50*time.Microsecond, time.Millisecond)) {
				return nil
			}
			return shard.Answered{Seat: seat, Event: answer}
		})
	}
	refused := func() bool { return e.isCut() || w.chance(queueRefused) }
	switch f := effect.(type) {
	case core.Publish:
		w.truth.wanted(f.Task, e)
		e.publish(seat, f.Task)
	case core.Revoke:
		ask(func() core.Event {
			if refused() {
				return core.AttemptRevoked{Run: f.Run, Attempt: f.Attempt, Failed: true}
			}
			revoked := w.queue.revoke(&f, e.time.stamp())
			return core.AttemptRevoked{Run: f.Run, Attempt: f.Attempt, Revoked: revoked, Failed: w.chance(queueUnsure)}
		})
	case core.Inspect:
		e.do(func(p *process, _ shard.Loader) shard.Input {
			answer := core.AttemptInspected{Run: f.Run, Attempt: f.Attempt, Failed: refused()}
			if !p.sleep(w.between(100*time.Microsecond, 3*time.Millisecond)) {
				return nil
			}
			answer.State.Waits = f.Tier != "" && w.queue.waits(&f)
			w.queue.inspectSubject(f.Run, f.Attempt, &answer.State)
			// Two questions, between which things happen.
			if !p.sleep(w.between(50*time.Microsecond, pick(w, 3*time.Millisecond, 300*time.Millisecond))) {
				return nil
			}
			w.queue.inspectLock(f.Run, f.Attempt, f.Locks, &answer.State)
			answer.State.Since = e.time.wall().Add(e.since - w.elapsed)
			if answer.Failed || e.isCut() {
				answer.Failed, answer.State = true, engine.AttemptState{}
			}
			if !p.sleep(w.between(50*time.Microsecond, time.Millisecond)) {
				return nil
			}
			return shard.Answered{Seat: seat, Event: answer}
		})
	case core.DeclareLost:
		ask(func() core.Event {
			if !refused() {
				w.queue.decide(engine.Result{Kind: engine.ResultLost, Run: f.Run, Attempt: f.Attempt, Shard: f.Shard, At: e.time.stamp()}, f.After)
			}
			return nil
		})
	case core.Ask:
		ask(func() core.Event {
			if !e.isCut() && !w.chance(controlLost) {
				w.control(f.Control)
			}
			return nil
		})
	case core.Notify:
		w.notifier.take(e, seat, f.Incident)
	case core.LookUpRuns:
		e.do(func(p *process, loader shard.Loader) shard.Input {
			for {
				found, err := loader.LookUp(context.Background(), f)
				if err == nil {
					return shard.Answered{Seat: seat, Event: found}
				}
				if !p.sleep(e.w.config.RetryMin) {
					return nil
				}
			}
		})
	}
}

// publish sends a task on its way, which like a commit's does not end with the engine.
func (e *driver) publish(seat shard.Seat, task *engine.Task) {
	w, group := e.w, e.group
	copied := *task
	e.sentAt = max(e.sentAt, w.elapsed+w.between(50*time.Microsecond, 2*time.Millisecond))
	w.after(e.sentAt-w.elapsed, func() {
		if group.dead && w.odds(0.5) {
			return
		}
		failed := e.isCut() || w.chance(publishRefused)
		if !failed {
			w.queue.publish(&copied, group, seat)
			e.fillsNoMore(&copied)
			e.runsNoMore(group, seat, &copied)
			failed = w.chance(publishUnsure)
		}
		if failed {
			w.after(w.between(50*time.Microsecond, 2*time.Millisecond), func() {
				if !group.dead {
					e.input(shard.Answered{Seat: seat, Event: core.TaskPublished{Run: copied.Run, Attempt: copied.Attempt, Failed: true}})
				}
			})
		}
	})
}
