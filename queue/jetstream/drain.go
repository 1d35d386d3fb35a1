package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// orderKept is how long an order to an executor is kept for it. An executor looks every few seconds, and remembers what
// the last order: an executor that has not looked for so long is not among the living.
const orderKept = time.Hour

// OrderDrain leaves an order for an executor, in the place of one that was left before, and notifies it.
func (q *Queue) OrderDrain(ctx context.Context, executor string, order engine.DrainOrder) error {
	operation := "jetstream: order executor " + executor
	if !engine.ValidID(executor) {
		return fmt.Errorf("jetstream: %q is no executor id", executor)
	}
	data, err := json.Marshal(order)
	if err != nil {
		return wrap(operation, err)
	}
	message := newOutgoing(q.names.order(executor))
	message.Data = data
	message.set(headerTTL, ttlHeader(orderKept))
	if _, err := q.publish(ctx, message, nil); err != nil {
		return wrap(operation, err)
	}
	if err := q.hint(q.names.control(), engine.Control{Kind: engine.ControlDrain, Executor: executor}); err != nil {
		q.log.Debug("could not notify an executor of its drain order; it finds the order by itself", "executor", executor, "error", err)
	}
	return nil
}

// DrainOrder returns the order that was left for an executor last, false if none is kept.
func (q *Queue) DrainOrder(ctx context.Context, executor string) (engine.DrainOrder, bool, error) {
	operation := "jetstream: look for orders to executor " + executor
	last, err := q.last(ctx, "KV_"+q.names.leases, q.names.order(executor))
	if err != nil || last == nil || isMarker(last) {
		return engine.DrainOrder{}, false, wrap(operation, err)
	}
	order := engine.DrainOrder{Revision: last.sequence}
	if err := json.Unmarshal(last.data, &order); err != nil {
		return engine.DrainOrder{}, false, wrap(operation, err)
	}
	return order, true, nil
}
