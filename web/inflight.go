package web

import (
	"context"
	"net/http"
	"sync"
)

// inFlight knows how many requests are being answered, which net/http forgets once it has cut their connections.
type inFlight struct {
	mu     sync.Mutex
	count  int
	closed bool
	idle   chan struct{} // closed when nothing is in flight and nothing comes any more
}

func newInFlight() *inFlight { return &inFlight{idle: make(chan struct{})} }

// wrap counts the requests that a handler answers, and takes no more once it is closed.
func (f *inFlight) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !f.enter() {
			http.Error(w, ErrStopping.Error(), http.StatusServiceUnavailable)
			return
		}
		defer f.leave()
		next.ServeHTTP(w, r)
	})
}

func (f *inFlight) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.count++
	return true
}

func (f *inFlight) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count--
	f.tell()
}

func (f *inFlight) tell() {
	if f.closed && f.count == 0 {
		close(f.idle)
	}
}

// wait takes nothing more, and returns once nothing is in flight or ctx ends.
func (f *inFlight) wait(ctx context.Context) error {
	f.mu.Lock()
	if !f.closed {
		f.closed = true
		f.tell()
	}
	f.mu.Unlock()
	select {
	case <-f.idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
