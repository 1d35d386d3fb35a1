// Package logthrottle limits repeated log lines to one per second, and counts those that it suppresses: while a store or a queue is
// unreachable, hundreds of runs fail each second with the same message. It is not golang.org/x/time/rate.Sometimes, because that
// reports no number of suppressed calls.
package logthrottle

import (
	"sync"
	"time"
)

// Interval is the least time between two lines about the same subject.
const Interval = time.Second

// Throttle limits log lines by subject. The zero value is ready to use, from any goroutine.
type Throttle struct {
	mu   sync.Mutex
	last map[string]line
}

type line struct {
	at         time.Time
	suppressed int
}

// Allow reports whether to log a line about a subject now, and how many lines it has suppressed since the last one. It keeps every
// subject, so the caller must use few different ones.
func (t *Throttle) Allow(subject string, now time.Time) (suppressed int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, known := t.last[subject]
	if known && now.Sub(last.at) < Interval {
		last.suppressed++
		t.last[subject] = last
		return 0, false
	}
	if t.last == nil {
		t.last = make(map[string]line)
	}
	t.last[subject] = line{at: now}
	return last.suppressed, true
}
