package executor

import (
	"context"

	"github.com/tidewheel/tidewheel/engine"
)

// obey does what an operator has ordered last: it stops taking tasks, or resumes. What says that there is an order may
// be lost, so that it is also looked for with every presence.
func (e *Executor) obey() {
	ctx, cancel := context.WithTimeout(e.base, e.config.PresenceEvery)
	defer cancel()
	order, ok, err := e.queue.DrainOrder(ctx, e.config.ID)
	switch {
	case err != nil:
		if e.base.Err() == nil {
			e.log.Debug("orders could not be looked for; it is tried again", keyError, err)
		}
		return
	case !ok: // none, or it was kept for long enough to have been heard
		return
	}
	before := e.drainOrder()
	if before != nil && before.Revision >= order.Revision {
		return
	}
	e.mu.Lock()
	e.order = &order
	e.mu.Unlock()
	if was := before != nil && before.Draining; was == order.Draining {
		return
	}
	select {
	case <-e.hold: // a word that the pull has not taken
	default:
	}
	e.hold <- order.Draining
	if !order.Draining {
		e.log.Info("this executor takes tasks again", "by", order.By)
		return
	}
	e.log.Info("this executor drains: it takes no new runs, running ones finish", "by", order.By)
	for _, a := range e.attempts() { // others can begin them at once
		a.handBack(endOrdered)
	}
}

// drainOrder returns the last order, nil if there was none.
func (e *Executor) drainOrder() *engine.DrainOrder {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.order
}

// refuses reports whether nothing new is begun.
func (e *Executor) refuses() bool {
	order := e.drainOrder()
	return e.intake.Err() != nil || order != nil && order.Draining
}
