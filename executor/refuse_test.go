package executor_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/executor/process"
)

// sawRefused waits until the executor says of itself that it has refused so many tasks.
func (r *rig) sawRefused(times int64) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	if err := r.await(ctx, func() bool {
		if len(r.presences) == 0 {
			return false
		}
		refused := r.presences[len(r.presences)-1].Refused
		return refused != nil && refused.Count == times
	}); err != nil {
		r.t.Errorf("it does not say that it has refused %d tasks: %v", times, err)
	}
}

func TestRefusedTaskDoesNotRunAndIsReported(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		why := errors.New("it is not what was signed " + strings.Repeat("x", 10000))
		refused := &executor.RefusedError{Reason: engine.RefusedAltered, Subject: "tasks.light.standard.uid1-s1", Err: why}
		for range 2 {
			r.tasks <- &delivery{q: r.queue, bad: refused}
		}
		r.saw("refuse", 2)
		r.sawRefused(2)
		if got, want := r.history(), []string{"refuse", "refuse"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		said := r.announced().Refused
		if said == nil || said.Count != 2 || said.Last != engine.RefusedAltered || len(said.Why) > 1000 || !strings.Contains(said.Why, "not what was signed") || said.At.IsZero() {
			t.Errorf("it says of itself %+v", said)
		}
		if len(p.started) > 0 {
			t.Error("it began")
		}
	})
}

// A task that cannot be verified yet is no refusal: keys that rotate, and a server that is unavailable for a minute, would be an alarm.
func TestTaskThatCannotBeVerifiedYetIsPutBackAndNotReported(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		put := make(chan time.Duration, 1)
		r.tasks <- &delivery{q: r.queue, bad: &executor.NotYetError{Delay: 3 * time.Second, Err: errors.New("its key is not known")}, nak: put}
		if delay := <-put; delay != 3*time.Second {
			t.Errorf("put back for %v", delay)
		}
		if said := r.announced().Refused; said != nil || len(p.started) > 0 {
			t.Errorf("it says of itself %+v, and began %d", said, len(p.started))
		}
	})
}

func TestOldTaskBeginsWhenTheEngineConfirmsIt(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		task := r.task("")
		r.tasks <- &delivery{q: r.queue, task: task, nak: make(chan time.Duration, 1), confirm: "it was signed yesterday"}
		claim := r.result(task, engine.ResultStarted)
		if !claim.Asks {
			t.Error("its claim does not ask whether it may begin")
		}
		synctest.Wait()
		if len(p.started) > 0 {
			t.Error("it begins before the engine has confirmed it")
		}
		r.controls(engine.Control{Kind: engine.ControlBegin, Run: task.Run, Attempt: task.Attempt, Executor: "here", Token: claim.Token})
		(<-p.started).end(process.Exit{})
		if finish := r.finish(task); finish.Status != engine.StatusSucceeded {
			t.Errorf("%+v", finish)
		}
		if said := r.announced().Refused; said != nil {
			t.Errorf("it says that it has refused %+v", said)
		}
	})
}

// An old task that is redelivered after its claim is forgotten finds no engine that confirms it.
func TestOldTaskThatNoEngineConfirmsIsReportedAsReplayed(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		task := r.task("")
		r.tasks <- &delivery{q: r.queue, task: task, nak: make(chan time.Duration, 1), confirm: "it was signed yesterday"}
		if finish := r.finish(task); !finish.HandedBack || !finish.StartedAt.IsZero() {
			t.Errorf("%+v", finish)
		}
		r.sawRefused(1)
		if said := r.announced().Refused; said == nil || said.Last != engine.RefusedReplayed || !strings.Contains(said.Why, "signed yesterday") {
			t.Errorf("it says of itself %+v", said)
		}
		if len(p.started) > 0 {
			t.Error("it began")
		}
	})
}
