package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/executor"
	"github.com/tidewheel/tidewheel/signing"
)

// What is signed. A signature is made over the subject, the bytes of the body and the mark of a second publish, so that
// there is nothing in a task that may be changed and no list of fields that could be forgotten (ADR 47).
const (
	purposeTask  = "task"
	purposeBegin = "begin"
)

// taskLife is how long an executor takes a task after it was signed. What waits for longer is let go, and the engine gives
// its run another attempt.
const taskLife = 24 * time.Hour

// strangerTries is how often a task with an unknown key is given back, so that an executor with newer keys may take it, and
// strangerDelay for how long.
const (
	strangerTries = 3
	strangerDelay = time.Second
)

func signedPart(purpose string, message *nats.Msg) signing.Message {
	return signing.Message{Purpose: purpose, Subject: message.Subject, Mark: message.Header.Get(headerAgain), Body: message.Data}
}

// unsigned is a task that is about to be signed and sent.
type unsigned struct {
	message nats.Msg
	attempt int
	done    func(error)
}

// unsignedTasks wait to be signed. One goroutine signs while there are any, all that wait at once: a signature costs as
// much for many tasks as for one, and while it is made others come.
type unsignedTasks struct {
	mu      sync.Mutex
	waiting []unsigned
	busy    bool
}

// signTask signs and sends a task. It does not wait.
func (q *Queue) signTask(task unsigned) {
	u := &q.unsigned
	u.mu.Lock()
	u.waiting = append(u.waiting, task)
	begin := !u.busy
	u.busy = true
	u.mu.Unlock()
	if begin && !q.spawn(q.signWaiting) {
		for tasks := u.take(); len(tasks) > 0; tasks = u.take() {
			for _, task := range tasks {
				task.done(errClosed())
			}
		}
	}
}

// take returns some of what waits; none: the signer has stopped.
func (u *unsignedTasks) take() []unsigned {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.waiting) <= signing.MaxBatch {
		taken := u.waiting
		u.waiting, u.busy = nil, len(taken) > 0
		return taken
	}
	taken := u.waiting[:signing.MaxBatch:signing.MaxBatch]
	u.waiting = u.waiting[signing.MaxBatch:]
	return taken
}

func (q *Queue) signWaiting() {
	for {
		runtime.Gosched() // the engine may be publishing more, which this signature can be for, too
		tasks := q.unsigned.take()
		if len(tasks) == 0 {
			return
		}
		parts := make([]signing.Message, len(tasks))
		for i := range tasks {
			parts[i] = signedPart(purposeTask, &tasks[i].message)
		}
		signatures, err := q.config.Keys.Sign(time.Now(), parts)
		for i := range tasks {
			if err != nil {
				tasks[i].done(err)
				continue
			}
			tasks[i].message.Header[headerSignature] = signatures[i : i+1 : i+1]
			q.publishTask(tasks[i].message, tasks[i].attempt, publishTries, tasks[i].done)
		}
	}
}

// verify returns nil for a task that an engine made and that is what it made; else *executor.RefusedError, or *executor.NotYetError
// while others may have the key of this one.
func (d *delivery) verify() error {
	refuse := func(reason engine.RefusalReason, err error) error {
		return &executor.RefusedError{Reason: reason, Subject: d.message.Subject, Err: err}
	}
	part := signedPart(purposeTask, d.message)
	at, err := d.q.config.Keys.Verify(d.q.closing, &part, d.message.Header.Get(headerSignature))
	switch age := time.Since(at); {
	case errors.Is(err, signing.ErrAltered):
		return refuse(engine.RefusedAltered, err)
	case errors.Is(err, signing.ErrUnknownKey) && d.deliveries() < strangerTries:
		return &executor.NotYetError{Delay: strangerDelay, Err: err}
	case err != nil:
		return refuse(engine.RefusedForged, err)
	case age > taskLife || age < -taskLife:
		return refuse(engine.RefusedExpired, fmt.Errorf("it was signed at %s, and is good for %v", at.UTC().Format(time.RFC3339), taskLife))
	case age > d.q.config.ClaimWindow*3/4 || age < -d.q.config.ClaimWindow/4:
		d.confirm = "it was signed at " + at.UTC().Format(time.RFC3339)
	}
	return nil
}

// Confirm returns why the engine must confirm the attempt: it was signed so long ago, or the clocks differ so much, that the
// claim of another copy may have been trimmed.
func (d *delivery) Confirm() string { return d.confirm }

// deliveries is how often the task was given out, this time included.
func (d *delivery) deliveries() uint64 {
	meta, err := d.message.Metadata()
	if err != nil {
		return math.MaxUint64
	}
	return meta.NumDelivered
}

// Refuse lets a task go that must not run. The engine finds by itself that a run waits whose task was removed; of one that has
// expired, and was real, it hears at once.
func (d *delivery) Refuse(refused *executor.RefusedError) error {
	d.settled.Store(true)
	if err := d.q.conn.Publish(d.message.Reply, []byte("+TERM refused as "+string(refused.Reason))); err != nil {
		return wrap("jetstream: refuse "+d.message.Subject, err)
	}
	if refused.Reason == engine.RefusedExpired {
		return d.wake()
	}
	return nil
}

// wake notifies the engine that no executor got this task.
func (d *delivery) wake() error {
	task, err := decodeTask(d.message.Data)
	if err != nil {
		return wrap("jetstream: read task "+d.message.Subject, err)
	}
	return d.q.hint(d.q.names.wake(task.Shard), engine.Wake{Shard: task.Shard, Kind: engine.WakeTask, Key: task.Run, Attempt: task.Attempt})
}

// permit sends the permission to begin, signed.
func (q *Queue) permit(control engine.Control) error {
	data, err := json.Marshal(control)
	if err != nil {
		return fmt.Errorf("jetstream: encode a permission: %w", err)
	}
	message := &nats.Msg{Subject: q.names.control(), Data: data, Header: make(nats.Header, 1)}
	signatures, err := q.config.Keys.Sign(time.Now(), []signing.Message{signedPart(purposeBegin, message)})
	if err != nil {
		return wrap("jetstream: sign a permission", err)
	}
	message.Header[headerSignature] = signatures
	return wrap("jetstream: send "+message.Subject, q.conn.PublishMsg(message))
}

// verifyPermit returns nil for a permission that an engine signed. It names the executor and the claim that it is for, so
// that one of before opens nothing.
func (q *Queue) verifyPermit(ctx context.Context, message *nats.Msg) error {
	part := signedPart(purposeBegin, message)
	_, err := q.config.Keys.Verify(ctx, &part, message.Header.Get(headerSignature))
	return err
}
