package executor

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// maxWhy bounds what a presence repeats of a message that nobody vouches for, in bytes.
const maxWhy = 400

// refuse reports a task that must not run: in the log, to the observer, and in what this executor says of itself.
func (e *Executor) refuse(refused *RefusedError) {
	why := refused.Error()
	if passed, say := e.sayings.Say("refused "+string(refused.Reason), time.Now()); say {
		e.log.Error("a task is refused and does not run", "reason", refused.Reason, keyError, why, "as_often_before", passed)
	}
	e.observer.TaskRefused(refused.Reason)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refused = engine.Refusals{Count: e.refused.Count + 1, Last: refused.Reason, Why: why[:min(len(why), maxWhy)], At: time.Now().UTC()}
}

// putBackUnverified gives a task back that may be verified later or elsewhere. It is refused only when that goes on.
func (e *Executor) putBackUnverified(task *engine.Task, delivery Delivery, why *NotYetError) {
	if passed, say := e.sayings.Say("not yet", time.Now()); say {
		e.log.Warn("a task is put back, as it cannot be verified here yet", keyError, why, "as_often_before", passed)
	}
	e.settled(task, delivery.Nak(why.Delay))
}

// refusals are what was refused so far; nil: nothing.
func (e *Executor) refusals() *engine.Refusals {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refused.Count == 0 {
		return nil
	}
	refused := e.refused
	return &refused
}
