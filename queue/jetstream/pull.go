package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
)

// defaultPremiumWeight is the premium attempts taken for each standard one while both wait.
const defaultPremiumWeight = 4

// sureEvery is after how many failures in a row an executor makes sure of the consumers: before, it is likelier that a
// cluster chooses who keeps them.
const sureEvery = 4

// poolLimit is how long an executor asks for nothing while it looks which pools of labels there are.
const poolLimit = 500 * time.Millisecond

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
	full, bytes, err := q.isFull(ctx)
	if err != nil {
		q.log.Debug("the size of the results is not known; asking again soon", "error", err)
	}
	held := false
	var in *intake
	if full {
		q.sayFullness(full, bytes)
		p.hold()
	} else if in, err = q.openIntake(p); err != nil {
		return fmt.Errorf("jetstream: pull: %w", err)
	}
	following, stopFollowing := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { q.followPools(following, p) })
	fullness := make(chan bool)
	beside.Go(func() { q.followFullness(following, full, fullness) })
	watchdog := time.NewTicker(min(pullLook, q.config.AckWait/4))
	defer watchdog.Stop()
	for running := true; running; {
		select {
		case <-ctx.Done():
			running = false
		case <-connection.again:
			p.forget()
		case <-watchdog.C:
			p.expire(time.Now())
			p.keep(time.Now())
		case <-p.broken:
			q.repair(ctx, p)
		case held = <-config.Hold:
		case full = <-fullness:
		}
		if in, err = q.holdIntake(p, in, held || full); err != nil {
			err = fmt.Errorf("jetstream: pull: %w", err)
			running = false
		}
	}
	p.stop()
	stopFollowing()
	beside.Wait()
	q.closeIntake(in)
	p.running.Wait()
	close(p.work)
	p.workers.Wait()
	return err
}

// intake is where what a puller asks for arrives.
type intake struct {
	sub     *nats.Subscription
	drained chan struct{}
}

// openIntake begins to ask.
func (q *Queue) openIntake(p *puller) (*intake, error) {
	in := &intake{drained: make(chan struct{})}
	var err error
	if in.sub, err = q.conn.Subscribe(p.inbox+".>", p.receive); err != nil {
		return nil, err
	}
	in.sub.SetClosedHandler(func(string) { close(in.drained) })
	if err := in.sub.SetPendingLimits(-1, -1); err != nil {
		return nil, err
	}
	p.fill()
	return in, nil
}

// closeIntake lets the server stop sending. What it had sent already is handed to receive before this returns.
func (q *Queue) closeIntake(in *intake) {
	if in == nil {
		return
	}
	if err := in.sub.Drain(); err != nil {
		_ = in.sub.Unsubscribe() // fails only on a closed connection, where nothing is left to undo
		return
	}
	select {
	case <-in.drained:
	case <-q.closing.Done():
	}
}

// holdIntake stops asking, or begins again, if it has not already. Requests that stand at the server end when their answers have no subscriber.
func (q *Queue) holdIntake(p *puller, in *intake, held bool) (*intake, error) {
	switch {
	case held && in != nil:
		p.hold()
		q.closeIntake(in)
		return nil, nil
	case !held && in == nil:
		p.resume(q.conn.NewInbox())
		return q.openIntake(p)
	}
	return in, nil
}

// repair waits a little and asks again. From time to time it makes sure of the consumers beside that: whatever the server
// said, they may have gone.
func (q *Queue) repair(ctx context.Context, p *puller) {
	failures := p.failures()
	if !pause(ctx, backoff(failures)) {
		return
	}
	if len(p.config.Labels) > 0 { // a pool that is gone must not be given consumers again
		looking, cancel := context.WithTimeout(ctx, poolLimit)
		err := q.servePools(looking, p)
		cancel()
		if err != nil {
			q.log.Debug("the pools of labels were not read", "error", err)
		}
	}
	if failures%sureEvery == 0 && q.config.Enrolled == nil && p.making.CompareAndSwap(false, true) {
		pools := append(plainPools(), p.served()...)
		making := q.spawn(func() {
			defer p.making.Store(false)
			if err := q.ensurePoolConsumers(q.closing, pools); err != nil && q.closing.Err() == nil && !forming(err) {
				q.log.Warn("task consumers cannot be made; trying again", "error", err)
			}
		})
		if !making {
			p.making.Store(false)
		}
	}
	p.forget()
}

// delivery is one task.
type delivery struct {
	q       *Queue
	message *nats.Msg
	since   time.Time
	settled atomic.Bool
	confirm string
}

// Task verifies and reads the message.
func (d *delivery) Task() (engine.Task, error) {
	if err := d.verify(); err != nil {
		return engine.Task{}, err
	}
	task, err := decodeTask(d.message.Data)
	if err != nil {
		return task, fmt.Errorf("jetstream: read task %s: %w", d.message.Subject, err)
	}
	return task, nil
}

// Ack ends the queue's part. It does not wait: a copy that comes again because this was lost finds the claim.
func (d *delivery) Ack() error {
	d.settled.Store(true)
	return wrap("jetstream: acknowledge "+d.message.Subject, d.q.conn.Publish(d.message.Reply, nil))
}

// Outlived reports whether this is another copy of a task that is so old that the claim, which who was given it before
// may have made, may have been trimmed: then a second claim would find nothing in its way. Claims are kept for a claim
// window; a quarter less leaves room for clocks that differ.
func (d *delivery) Outlived() bool {
	meta, err := d.message.Metadata()
	if err != nil || time.Since(meta.Timestamp) <= d.q.config.ClaimWindow*3/4 {
		return false
	}
	return meta.NumDelivered > 1 || d.message.Header.Get(headerAgain) != "" || d.message.Header.Get(headerRepeated) != "" ||
		time.Since(d.since) > d.q.config.AckWait
}

// Nak gives the task back.
func (d *delivery) Nak(delay time.Duration) error {
	d.settled.Store(true)
	answer := []byte("-NAK")
	if delay > 0 {
		answer = fmt.Appendf(answer, ` {"delay": %d}`, delay.Nanoseconds())
	}
	return wrap("jetstream: give back "+d.message.Subject, d.q.conn.Publish(d.message.Reply, answer))
}
