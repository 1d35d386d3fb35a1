package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
)

// defaultPremiumWeight is the premium attempts taken for each standard one while both wait.
const defaultPremiumWeight = 4

// Pull calls handle in a goroutine of its own for each task until ctx ends, then waits for the handles and returns
// nil. How it decides what to ask for is in puller.go.
func (q *Queue) Pull(ctx context.Context, config executor.PullConfig, handle func(executor.Delivery)) error {
	if config.Slots < 1 {
		return fmt.Errorf("jetstream: pull: %d slots: use at least one", config.Slots)
	}
	if len(config.Tiers) == 0 {
		return errors.New("jetstream: pull: no tier is given")
	}
	if config.PremiumWeight == 0 {
		config.PremiumWeight = defaultPremiumWeight
	}
	if config.PremiumWeight < 1 {
		return fmt.Errorf("jetstream: pull: premium weight %d: use at least one", config.PremiumWeight)
	}
	connection := q.listen()
	defer q.ignore(connection)
	p := newPuller(q, config, handle)
	drained := make(chan struct{})
	sub, err := q.conn.Subscribe(p.inbox+".>", p.receive)
	if err != nil {
		return fmt.Errorf("jetstream: pull: %w", err)
	}
	sub.SetClosedHandler(func(string) { close(drained) })
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return fmt.Errorf("jetstream: pull: %w", err)
	}
	p.fill()
	watchdog := time.NewTicker(pullGrace)
	defer watchdog.Stop()
	for running := true; running; {
		select {
		case <-ctx.Done():
			running = false
		case <-connection.again:
			p.forget()
		case <-watchdog.C:
			p.expire(time.Now())
		case <-p.broken:
			q.repair(ctx, p)
		}
	}
	p.stop()
	// The server stops sending, and what it had sent already is given back by receive.
	if err := sub.Drain(); err != nil {
		_ = sub.Unsubscribe() // fails only on a closed connection, where nothing is left to undo
	} else {
		select {
		case <-drained:
		case <-q.closing.Done():
		}
	}
	p.running.Wait()
	close(p.work)
	p.workers.Wait()
	return nil
}

// repair waits a little and asks again, after making sure of the consumers: whatever the server said, they may have
// gone.
func (q *Queue) repair(ctx context.Context, p *puller) {
	if !pause(ctx, backoff(p.failures())) {
		return
	}
	if err := q.ensureTaskConsumers(ctx); err != nil {
		if ctx.Err() == nil && q.conn.IsConnected() {
			q.log.Warn("task consumers cannot be made; trying again", "error", err)
		}
		p.breakLater()
		return
	}
	p.forget()
}

// delivery is one task.
type delivery struct {
	q       *Queue
	message *nats.Msg
}

// Task reads the message.
func (d *delivery) Task() (engine.Task, error) {
	task, err := decodeTask(d.message.Data)
	if err != nil {
		return task, fmt.Errorf("jetstream: read task %s: %w", d.message.Subject, err)
	}
	return task, nil
}

// Ack ends the queue's part. It does not wait: a copy that comes again because this was lost finds the claim.
func (d *delivery) Ack() error {
	return wrap("jetstream: acknowledge "+d.message.Subject, d.q.conn.Publish(d.message.Reply, nil))
}

// Nak gives the task back.
func (d *delivery) Nak(delay time.Duration) error {
	answer := []byte("-NAK")
	if delay > 0 {
		answer = fmt.Appendf(answer, ` {"delay": %d}`, delay.Nanoseconds())
	}
	return wrap("jetstream: give back "+d.message.Subject, d.q.conn.Publish(d.message.Reply, answer))
}
