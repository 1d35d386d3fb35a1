package executor_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor/process"
)

func mayBeginOnce(task *engine.Task) { task.Once = true }

// A program that may begin once at most begins when the engine says so of this very claim, and asks for that again and again.
func TestProgramThatMayBeginOnceWaitsForTheEngine(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		task := r.task("", mayBeginOnce)
		r.send(task)
		claim := r.result(task, engine.ResultStarted)
		if !claim.Asks {
			t.Error("its claim does not ask whether it may begin")
		}
		if question := r.result(task, engine.ResultProgress); !question.Asks || question.At.Sub(claim.At) > 2*time.Second {
			t.Errorf("it does not ask again: %+v", question)
		}
		for _, other := range []engine.Control{
			{Executor: "there", Token: claim.Token}, {Executor: "here", Token: claim.Token + 1},
		} {
			other.Kind, other.Run, other.Attempt = engine.ControlBegin, task.Run, task.Attempt
			r.controls(other)
		}
		synctest.Wait()
		if len(p.started) > 0 {
			t.Error("it begins by the word to another")
		}
		for range 2 { // the second says nothing new
			r.controls(engine.Control{Kind: engine.ControlBegin, Run: task.Run, Attempt: task.Attempt, Executor: "here", Token: claim.Token})
		}
		(<-p.started).end(process.Exit{})
		if finish := r.finish(task); finish.Status != engine.StatusSucceeded {
			t.Errorf("%+v", finish)
		}
	})
}

func TestProgramThatMayBeginOnceIsHandedBackWithoutTheEngine(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		began := time.Now()
		task := r.task("", mayBeginOnce)
		r.send(task)
		finish := r.finish(task)
		if !finish.HandedBack || !finish.StartedAt.IsZero() || !strings.Contains(finish.Error, "may begin") {
			t.Errorf("%+v", finish)
		}
		if took := time.Since(began); took < 15*time.Second || took > 25*time.Second {
			t.Errorf("it waited for %v", took)
		}
		if len(p.started) > 0 {
			t.Error("it began")
		}
	})
}

func TestProgramThatWaitsForTheEngineCanBeCancelled(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig, p *programs) {
		task := r.task("", mayBeginOnce)
		r.send(task)
		r.result(task, engine.ResultProgress)
		r.control(engine.ControlCancel, task.Run, task.Attempt)
		if finish := r.finish(task); finish.Status != engine.StatusCancelled || len(p.started) > 0 {
			t.Errorf("%+v", finish)
		}
	})
}
