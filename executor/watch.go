package executor

import (
	"sync"
	"syscall"
	"time"

	"github.com/tidewheel/tidewheel/executor/process"
)

// watch keeps the guardian from ending the programs. An executor that is stopped or starved cannot end them itself when
// their locks are about to pass on; so it tells the guardian the first instant at which one of them must be dead, some
// times in the life of a lock, and the guardian acts if that instant passes and no later one was told.
type watch struct {
	mu     sync.Mutex
	told   time.Time // what the guardian was told; zero before the first time
	lapsed time.Time // when it was last found that the told instant had passed
}

// speaksPerLock is how often the guardian is told in the life of a lock.
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

// speaker is how the guardian is told; as process.Host.
type speaker interface{ Speak(until time.Time) }

// speak tells the guardian until when all programs may live.
func (e *Executor) speak() {
	if e.host == nil {
		return
	}
	e.watch.mu.Lock()
	defer e.watch.mu.Unlock()
	now := time.Now()
	if !e.watch.told.IsZero() && now.After(e.watch.told) {
		e.watch.lapsed = now
	}
	until := now.Add(e.config.LockTTL)
	for _, a := range e.attempts() {
		if end, ok := a.mustEndBy(); ok && end.Before(until) {
			until = end
		}
	}
	e.watch.told = until
	e.host.Speak(until)
}

// let makes sure, before a program begins, that the guardian ends it in time: that it was told an instant that has not
// passed, and none that is too late for this program.
func (w *watch) let(a *attempt) {
	end := a.lease.killBy().Add(a.e.config.LockMargin / 2)
	w.mu.Lock()
	watched := time.Now().Before(w.told) && !end.Before(w.told)
	w.mu.Unlock()
	if !watched {
		a.e.speak()
	}
}

// guardianAtWork is how long the guardian may go on ending programs after an instant that passed: it looks until nothing
// of before is left, and knows to a hundredth of a second only what that is.
const guardianAtWork = 10 * time.Second

// silent tells whether the guardian may have ended a program that began at an instant, and ends now.
func (w *watch) silent(began time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.told.IsZero() && time.Now().After(w.told) || !w.lapsed.IsZero() && began.Before(w.lapsed.Add(guardianAtWork))
}

// mustEndBy tells when the guardian must end the attempt's program; false if there is none, and will be none. The
// executor itself is a little earlier, so that the guardian is never the one that acts while the executor can. It does
// not wait for a program that is being started.
func (a *attempt) mustEndBy() (time.Time, bool) {
	if a.harmless.Load() {
		return time.Time{}, false
	}
	return a.lease.killBy().Add(a.e.config.LockMargin / 2), true
}

// blame finds out who ended a program: one that the guardian has ended did not fail.
func (a *attempt) blame(exit process.Exit) {
	if exit.Signal == syscall.SIGKILL && a.reason() == endByItself && a.e.watch.silent(a.startedAt) {
		a.end(endLost)
	}
}
