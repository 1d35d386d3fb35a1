package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tidewheel/tidewheel/engine"
)

// watchEvery is how often a viewer says that it still watches; an executor sends for three times as long.
const watchEvery = 5 * time.Second

// Ask requests the executor that runs an attempt to end its program, or lets it begin it. All executors receive it: one
// subject, of which each drops what is not its own. The permission to begin is signed.
func (q *Queue) Ask(_ context.Context, control engine.Control) error {
	if control.Kind == engine.ControlBegin {
		return q.permit(control)
	}
	return q.hint(q.names.control(), control)
}

// Controls calls handle with what is asked of running attempts, from one goroutine, until ctx ends; then it returns
// nil. A permission to begin that no engine signed is passed over.
func (q *Queue) Controls(ctx context.Context, handle func(engine.Control)) error {
	return hearMessages(ctx, q, q.names.control(), func(message *nats.Msg, control engine.Control) {
		if control.Kind == engine.ControlBegin {
			if err := q.verifyPermit(ctx, message); err != nil {
				q.log.Error("a permission to begin a program is refused", "run", control.Run, "attempt", control.Attempt, "error", err)
				return
			}
		}
		handle(control)
	}, nil)
}

// PublishWake requests the owner of a shard to read the store.
func (q *Queue) PublishWake(_ context.Context, wake engine.Wake) error {
	return q.hint(q.names.wake(wake.Shard), wake)
}

// Wakes calls handle with the wakes of all shards, from one goroutine, until ctx ends; then it returns nil.
func (q *Queue) Wakes(ctx context.Context, handle func(engine.Wake)) error {
	return hear(ctx, q, q.names.wakes(), handle, nil)
}

// LogFrame shows a piece of an attempt's output to the users who watch it.
func (q *Queue) LogFrame(frame engine.LogFrame) error {
	return q.hint(q.names.log(frame.Run, frame.Attempt), frame)
}

// WatchLog calls handle with an attempt's output as it appears, from one goroutine, until ctx ends; then it returns
// nil. The executor begins with the recent output, and frames may be lost: Offset shows that.
func (q *Queue) WatchLog(ctx context.Context, run string, attempt int, handle func(engine.LogFrame)) error {
	if !engine.ValidID(run) {
		return fmt.Errorf("jetstream: watch log: %q is no run", run)
	}
	ask := func() error {
		return q.hint(q.names.control(), engine.Control{Kind: engine.ControlWatch, Run: run, Attempt: attempt})
	}
	return hear(ctx, q, q.names.log(run, attempt), handle, ask)
}

func (q *Queue) hint(subject string, content any) error {
	data, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("jetstream: encode %s: %w", subject, err)
	}
	return wrap("jetstream: send "+subject, q.conn.Publish(subject, data))
}

// hear hands on what comes on a core subject until ctx ends. While it hears, it asks for it: now and from time to
// time.
func hear[T any](ctx context.Context, q *Queue, subject string, handle func(T), ask func() error) error {
	return hearMessages(ctx, q, subject, func(_ *nats.Msg, content T) { handle(content) }, ask)
}

func hearMessages[T any](ctx context.Context, q *Queue, subject string, handle func(*nats.Msg, T), ask func() error) error {
	messages := make(chan *nats.Msg, 1024)
	sub, err := q.conn.ChanSubscribe(subject, messages)
	if err != nil {
		return fmt.Errorf("jetstream: hear %s: %w", subject, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection, where nothing is left to undo
	var again <-chan time.Time
	if ask != nil {
		ticker := time.NewTicker(watchEvery)
		defer ticker.Stop()
		again = ticker.C
		if err := ask(); err != nil {
			q.log.Debug("could not ask an executor for output", "subject", subject, "error", err)
		}
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again:
			if err := ask(); err != nil {
				q.log.Debug("could not ask an executor for output", "subject", subject, "error", err)
			}
		case message := <-messages:
			var content T
			if err := json.Unmarshal(message.Data, &content); err != nil {
				q.log.Warn("a message cannot be read and is passed over", "subject", message.Subject, "error", err)
				continue
			}
			handle(message, content)
		}
	}
}
