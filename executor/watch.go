package executor

import (
	"sync"
	"syscall"
	"time"

	"github.com/tidewheel/tidewheel/executor/process"
)

// watch keeps the guardian from ending the programs. An executor that is stopped or starved cannot end them itself when
// their locks are about to pass on. So, several times in the life of a lock, it sends the guardian the first instant at
// which one of them must be dead. The guardian acts if that instant passes without a later one.
type watch struct {
	mu       sync.Mutex
	deadline time.Time // that the guardian has; zero before the first one
}

// speaksPerLock is how often the executor sends the guardian an instant in the life of a lock.
const speaksPerLock = 8

// keepSpeaking speaks until done is closed.
func (e *Executor) keepSpeaking(done <-chan struct{}) {
	if e.host == nil {
		return
	}
	for e.speak(); wait(done, e.config.LockTTL/speaksPerLock); {
		e.speak()
	}
	e.host.Speak(time.Time{})
}

// speaker talks to the guardian; as process.Host.
type speaker interface {
	Speak(until time.Time)
	Silenced(began time.Time) bool
}

// speak sends the guardian the instant until which all programs may live.
func (e *Executor) speak() {
	if e.host == nil {
		return
	}
	e.watch.mu.Lock()
	defer e.watch.mu.Unlock()
	until := time.Now().Add(e.config.LockTTL)
	for _, a := range e.attempts() {
		if end, ok := a.mustEndBy(); ok && end.Before(until) {
			until = end
		}
	}
	e.watch.deadline = until
	e.host.Speak(until)
}

// let makes sure, before a program begins, that the guardian ends it in time: that it was sent an instant that has not
// passed, and none that is too late for this program.
func (w *watch) let(a *attempt) {
	end := a.lease.killBy().Add(a.e.config.LockMargin / 2)
	w.mu.Lock()
	watched := time.Now().Before(w.deadline) && !end.Before(w.deadline)
	w.mu.Unlock()
	if !watched {
		a.e.speak()
	}
}

// mustEndBy returns when the guardian must end the attempt's program; false if there is none, and will be none. The
// executor itself is a little earlier, so that the guardian is never the one that acts while the executor can. It does
// not wait for a program that is being started.
func (a *attempt) mustEndBy() (time.Time, bool) {
	if a.harmless.Load() {
		return time.Time{}, false
	}
	return a.lease.killBy().Add(a.e.config.LockMargin / 2), true
}

// blame finds out who ended a program: one that the guardian has ended did not fail. It is the guardian that knows: it
// may have acted before it read a later instant that this executor sent in time.
func (a *attempt) blame(exit process.Exit) {
	if exit.Signal == syscall.SIGKILL && a.reason() == endByItself && a.e.host != nil && a.e.host.Silenced(a.startedAt) {
		a.end(endLost)
	}
}
