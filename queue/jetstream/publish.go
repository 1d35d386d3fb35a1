package jetstream

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/tidewheel/tidewheel/engine"
)

// publishTries bounds how often a publish is retried because the copy in its way has just gone or was an older
// attempt's.
const publishTries = 4

// Publish asks executors to run an attempt. It returns at once; done is called once, maybe from the goroutine that
// reads NATS's answers, and must not wait for the queue.
//
// No message id is sent: within the window of JetStream's deduplication a task that was lost could not be published
// again (ADR 5). A second copy is refused by the stream while the first is unacknowledged, and finds the claim
// afterwards.
func (q *Queue) Publish(task *engine.Task, done func(error)) {
	finish := func(err error) { done(wrap("jetstream: publish run "+task.Run, err)) }
	if !engine.ValidID(task.Run) || !engine.ValidID(string(task.Tier)) || !engine.ValidID(string(task.Class)) {
		finish(fmt.Errorf("run %q, tier %q or class %q is no subject token", task.Run, task.Tier, task.Class))
		return
	}
	data, err := encodeTask(make([]byte, 0, 512), task)
	if err != nil {
		finish(err)
		return
	}
	pool := poolToken(task.Tier, task.RunsOn)
	message := nats.Msg{Subject: q.names.task(pool, string(task.Class), task.Run), Data: data, Header: make(nats.Header, 2)}
	if task.Again {
		message.Header[headerAgain] = []string{"1"}
	}
	publish := func() { q.signTask(unsigned{message, task.Attempt, finish}) }
	if len(task.RunsOn) == 0 || q.pools.has(pool) {
		publish()
		return
	}
	// Only now and then, a goroutine: executors must get to know the pool.
	if !q.spawn(func() {
		if err := q.openPool(task.Tier, task.RunsOn); err != nil {
			finish(err)
			return
		}
		publish()
	}) {
		finish(errClosed())
	}
}

func (q *Queue) publishTask(message nats.Msg, attempt, tries int, done func(error)) {
	q.requests.send(&nats.Msg{Subject: message.Subject, Data: message.Data, Header: message.Header}, func(answer *nats.Msg, err error) {
		if err == nil {
			_, err = acknowledged(answer)
		}
		if !errors.Is(err, errCopyWaits) {
			done(err)
			return
		}
		if tries == 1 {
			done(errors.New("copies of older attempts keep coming: publish again"))
			return
		}
		// Only now, and rarely, a goroutine: the copy in the way may be an older attempt's, and must be looked at.
		if !q.spawn(func() { q.replaceOlder(message, attempt, tries, done) }) {
			done(fmt.Errorf("%w: the connection is closed", ErrUnavailable))
		}
	})
}

// replaceOlder looks at the copy that was in the way: this attempt's own is as good as ours, an older attempt's has
// been decided elsewhere and is removed.
func (q *Queue) replaceOlder(message nats.Msg, attempt, tries int, done func(error)) {
	waiting, err := q.last(q.closing, q.names.tasks, message.Subject)
	if err != nil {
		done(fmt.Errorf("look at the waiting copy: %w", err))
		return
	}
	if waiting != nil {
		if of, err := readAttempt(waiting.data); err == nil && of >= attempt {
			done(nil)
			return
		}
		if err := q.remove(q.closing, q.names.tasks, waiting.sequence); err != nil {
			done(fmt.Errorf("remove the copy of an older attempt: %w", err))
			return
		}
	}
	q.publishTask(message, attempt, tries-1, done)
}

// spawn runs work that Close waits for; false if the queue is closed.
func (q *Queue) spawn(work func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closing.Err() != nil {
		return false
	}
	q.background.Go(work)
	return true
}
