package mongotest

import (
	"context"
	"sync"
	"time"
)

// Faults make a server misbehave. All methods may be called at any time.
type Faults struct {
	server *Server

	mutex               sync.Mutex
	paused              chan struct{} // closed on Resume; nil while answering
	dropBefore          int
	dropAfter           int
	errorAfter          int
	deadlockOnDuplicate int
	conflictOnDuplicate int
	notPrimary          int
	concernAfter        int
	cutInWrite          int
	slow                time.Duration // before each command
	halts               bool
	before              int // write commands that are done before that
	torn                Torn
}

// Slow makes each command wait before it is done; 0 ends that.
func (f *Faults) Slow(each time.Duration) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.slow = each
}

// Pause makes the server stop answering until Resume. Requests are read and wait; connections stay open.
func (f *Faults) Pause() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.paused == nil {
		f.paused = make(chan struct{})
	}
}

// Resume ends a Pause; what waited is done now, even where the client has given up meanwhile.
func (f *Faults) Resume() {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.paused != nil {
		close(f.paused)
		f.paused = nil
	}
}

// Refuse closes all connections and refuses new ones until Accept; the data stays.
func (f *Faults) Refuse() { f.server.shut() }

// Accept takes connections again, on the same port.
func (f *Faults) Accept() error { return f.server.listen() }

// DropBeforeWrite makes the next n write commands close their connection and not happen.
func (f *Faults) DropBeforeWrite(n int) { f.set(&f.dropBefore, n) }

// DropAfterWrite makes the next n write commands happen and close their connection instead of answering. A driver
// with retryable writes repeats such a write once, and gets the answer that was lost.
func (f *Faults) DropAfterWrite(n int) { f.set(&f.dropAfter, n) }

// ErrorAfterWrite makes the next n write commands happen and answer with an InternalError that no driver retries.
func (f *Faults) ErrorAfterWrite(n int) { f.set(&f.errorAfter, n) }

// DeadlockOnDuplicate makes the next n refusals by a unique index an InternalError that speaks of a deadlock, as
// MongoDB-compatible servers on top of other databases give under contention, instead of code 11000.
func (f *Faults) DeadlockOnDuplicate(n int) { f.set(&f.deadlockOnDuplicate, n) }

// ConflictOnDuplicate makes the next n refusals by a unique index a WriteConflict.
func (f *Faults) ConflictOnDuplicate(n int) { f.set(&f.conflictOnDuplicate, n) }

// NotPrimary makes the next n reads and writes not happen and answer with NotWritablePrimary, as a member of a replica
// set does that has just stepped down. A driver looks for the primary again and repeats the command once.
func (f *Faults) NotPrimary(n int) { f.set(&f.notPrimary, n) }

// ConcernErrorAfterWrite makes the next n write commands happen and say that no majority has confirmed them.
func (f *Faults) ConcernErrorAfterWrite(n int) { f.set(&f.concernAfter, n) }

// CutInWrite makes the next n write commands do the first half of what they ask for and close their connection. The
// server does not remember that half: a repeated command meets it.
func (f *Faults) CutInWrite(n int) { f.set(&f.cutInWrite, n) }

// Torn is how much of a write is done.
type Torn int

// How much of a write is done.
const (
	TornNone Torn = iota
	TornHalf      // the first half of what a command asks for
	TornAll       // all of it, and the answer is an error nevertheless
)

// HaltWrites does n more write commands, that much of the one after them, and none at all then: all those answer with an
// InternalError, as the last writes of a client that is killed would. ResumeWrites ends it.
func (f *Faults) HaltWrites(n int, torn Torn) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.halts, f.before, f.torn = true, n, torn
}

// ResumeWrites ends HaltWrites, and reports whether any write was not done as it should be.
func (f *Faults) ResumeWrites() (met bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	met = f.halts && f.before < 0
	f.halts = false
	return met
}

// halted reports whether a write command is kept from being done as it should be, and how much of it is done.
func (f *Faults) halted() (is bool, torn Torn) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if !f.halts {
		return false, 0
	}
	f.before--
	switch {
	case f.before >= 0:
		return false, 0
	case f.before == -1:
		return true, f.torn
	}
	return true, TornNone
}

func (f *Faults) set(counter *int, n int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	*counter = n
}

// take uses up one of a counted fault.
func (f *Faults) take(counter *int) bool {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if *counter <= 0 {
		return false
	}
	*counter--
	return true
}

// wait returns when the server is not paused, and has been as slow as it is to be.
func (f *Faults) wait(ctx context.Context) error {
	f.mutex.Lock()
	slow := f.slow
	f.mutex.Unlock()
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for {
		f.mutex.Lock()
		paused := f.paused
		f.mutex.Unlock()
		if paused == nil {
			return nil
		}
		select {
		case <-paused:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// later calls an end of a fault after a while, unless the server is closed before.
func (f *Faults) later(after time.Duration, end func()) {
	f.server.running.Go(func() {
		timer := time.NewTimer(after)
		defer timer.Stop()
		select {
		case <-timer.C:
			end()
		case <-f.server.context.Done():
		}
	})
}
