package executor

import (
	"context"
	"errors"
	"sync"
	"time"
)

// lease keeps an attempt's lock. It costs two timers until the first refresh is due, so that short runs pay next to
// nothing; then a goroutine.
type lease struct {
	queue  Queue
	key    string
	holder LockHolder
	ttl    time.Duration
	margin time.Duration
	lost   func() // called once, when the lock may soon be somebody else's; it must not block

	ctx    context.Context
	cancel context.CancelFunc
	begin  *time.Timer // starts the goroutine
	guard  *time.Timer // fires if the lock was not refreshed in time, whatever the goroutine waits for
	done   chan struct{}
	once   sync.Once

	mu       sync.Mutex
	revision uint64
	until    time.Time // when the lock can expire at the earliest
}

// newLease takes care of a lock that was asked for at the given instant: it lasts ttl from then at least.
func newLease(ctx context.Context, e *Executor, key string, holder LockHolder, revision uint64, asked time.Time, lost func()) *lease {
	l := &lease{
		queue: e.queue, key: key, holder: holder, ttl: e.config.LockTTL, margin: e.config.LockMargin, lost: lost,
		revision: revision, until: asked.Add(e.config.LockTTL), done: make(chan struct{}),
	}
	l.ctx, l.cancel = context.WithCancel(ctx)
	l.guard = time.AfterFunc(time.Until(l.until)-l.margin, l.lose)
	l.begin = time.AfterFunc(time.Until(asked.Add(l.ttl/3)), l.keep)
	return l
}

func (l *lease) lose() { l.once.Do(l.lost) }

// keep refreshes until the lease is stopped or lost.
func (l *lease) keep() {
	defer close(l.done)
	for next := time.Duration(0); !waited(l.ctx, next); {
		asked := time.Now()
		// A question without an answer is asked again.
		ctx, cancel := context.WithTimeout(l.ctx, min(l.ttl/5, time.Until(l.until)-l.margin))
		revision, err := l.queue.Refresh(ctx, l.key, l.holder, l.revision, l.ttl)
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

// waited tells whether ctx has ended before or within d.
func waited(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() != nil
	}
	return !wait(ctx.Done(), d)
}

// stop ends the care and gives the lock's revision.
func (l *lease) stop() uint64 {
	l.cancel()
	l.guard.Stop()
	if !l.begin.Stop() {
		<-l.done
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.revision
}
