package executor

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// maxWhy bounds the text of an unverified message in a presence, in bytes.
const maxWhy = 400

// refuse reports a task that must not run: in the log, to the observer, and in the presence of this executor.
func (e *Executor) refuse(refused *RefusedError) {
	why := refused.Error()
	if suppressed, ok := e.throttle.Allow("refused "+string(refused.Reason), time.Now()); ok {
		e.log.Error("refused a task; it does not run", "reason", refused.Reason, keyError, why, "suppressed", suppressed)
	}
	e.observer.TaskRefused(refused.Reason)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.refused = engine.Refusals{Count: e.refused.Count + 1, Last: refused.Reason, Why: why[:min(len(why), maxWhy)], At: time.Now().UTC()}
}

// putBackUnverified returns a task to the queue that may be verified later, or by another executor.
func (e *Executor) putBackUnverified(task *engine.Task, delivery Delivery, why *NotYetError) {
	if suppressed, ok := e.throttle.Allow("not yet", time.Now()); ok {
		e.log.Warn("returned a task to the queue, because it cannot be verified here yet", keyError, why, "suppressed", suppressed)
	}
	e.settled(task, delivery.Nak(why.Delay))
}

// refusals returns what this executor has refused so far; nil if nothing.
func (e *Executor) refusals() *engine.Refusals {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refused.Count == 0 {
		return nil
	}
	refused := e.refused
	return &refused
}
