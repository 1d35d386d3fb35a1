package executor

import (
	"context"
	"errors"
	"sync"
	"time"
)

// lease keeps an attempt's lock. It costs a timer until the first refresh is due, so that short runs pay next to nothing;
// then a goroutine and another timer.
type lease struct {
	queue  Queue
	key    string
	holder LockHolder
	ttl    time.Duration
	margin time.Duration
	lost   func() // called once, when another executor may soon take the lock; it must not block

	base  context.Context
	begin *time.Timer // starts the goroutine
	guard *time.Timer // the goroutine's: fires if the lock was not refreshed in time, whatever it waits for
	once  sync.Once

	mu       sync.Mutex
	stopped  bool
	cancel   context.CancelFunc // of the goroutine, nil before it has begun
	done     chan struct{}      // closed when it has ended
	revision uint64
	until    time.Time // when the lock can expire at the earliest
}

// newLease takes care of a lock that was asked for at the given instant: it lasts ttl from then at least.
func newLease(ctx context.Context, e *Executor, key string, holder LockHolder, revision uint64, asked time.Time, lost func()) *lease {
	l := &lease{
		queue: e.queue, key: key, holder: holder, ttl: e.config.LockTTL, margin: e.config.LockMargin, lost: lost,
		base: ctx, revision: revision, until: asked.Add(e.config.LockTTL),
	}
	l.begin = time.AfterFunc(time.Until(asked.Add(l.ttl/3)), l.keep)
	return l
}

func (l *lease) lose() { l.once.Do(l.lost) }

// keep refreshes until the lease is stopped or lost.
func (l *lease) keep() {
	ctx, cancel := context.WithCancel(l.base)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	l.mu.Lock()
	if l.stopped {
		l.mu.Unlock()
		return
	}
	l.cancel, l.done = cancel, done
	l.guard = time.AfterFunc(time.Until(l.until)-l.margin, l.lose)
	l.mu.Unlock()
	for next := time.Duration(0); !waited(ctx, next); {
		asked := time.Now()
		// A question without an answer is asked again.
		asking, cancel := context.WithTimeout(ctx, min(l.ttl/5, time.Until(l.until)-l.margin))
		revision, err := l.queue.Refresh(asking, l.key, l.holder, l.revision, l.ttl)
		cancel()
		switch {
		case err == nil:
			l.mu.Lock()
			l.revision, l.until = revision, asked.Add(l.ttl)
			l.mu.Unlock()
			if !l.guard.Reset(time.Until(l.until) - l.margin) {
				l.guard.Stop() // it has fired: the program is dead already
				return
			}
			next = time.Until(asked.Add(l.ttl / 3))
		case errors.Is(err, ErrFenced):
			l.lose()
			return
		case !time.Now().Before(l.until.Add(-l.margin)):
			return // guard fires
		default:
			next = l.ttl / 40
		}
	}
}

// waited reports whether ctx has ended before or within d.
func waited(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() != nil
	}
	return !wait(ctx.Done(), d)
}

// killBy is when the program must be dead if the lock is not refreshed meanwhile.
func (l *lease) killBy() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until.Add(-l.margin)
}

// stop ends the care and returns the lock's revision.
func (l *lease) stop() uint64 {
	if l.begin.Stop() {
		return l.revision
	}
	l.mu.Lock()
	l.stopped = true
	cancel, done := l.cancel, l.done
	l.mu.Unlock()
	if done != nil {
		cancel()
		<-done
		l.guard.Stop()
	}
	return l.revision
}
