package clustertest

import (
	"sync"
	"testing"
	"time"
)

// happenings guards what the test's goroutines learn of its processes, and wakes the goroutines that wait for it.
type happenings struct {
	mu      sync.Mutex
	changed chan struct{} // closed with the next change
}

// note changes what is known.
func (h *happenings) note(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// look reads what is known.
func (h *happenings) look(read func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	read()
}

// within reports whether something comes true before a while has passed.
func (h *happenings) within(limit time.Duration, is func() bool) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		h.mu.Lock()
		if is() {
			h.mu.Unlock()
			return true
		}
		if h.changed == nil {
			h.changed = make(chan struct{})
		}
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-changed:
		case <-timer.C:
			return false
		}
	}
}

// await returns once something is true, which must be before a while has passed.
func (h *happenings) await(t *testing.T, what string, limit time.Duration, is func() bool) {
	t.Helper()
	if !h.within(limit, is) {
		t.Fatalf("waited %s for %s", limit, what)
	}
}
