package sim

import "github.com/tidewheel/tidewheel/engine"

// canBecome reports whether a run may go from one status to another without an operator. Going to the same status is
// allowed: an attempt's details may change while its run's status does not.
func canBecome(s, next engine.Status) bool {
	if s == next {
		return s != engine.StatusInvalid
	}
	switch s {
	case engine.StatusInvalid:
		return next == engine.StatusScheduled || next == engine.StatusQueued || next == engine.StatusFailed || next == engine.StatusSkipped
	case engine.StatusScheduled:
		return next == engine.StatusQueued || next == engine.StatusCancelled || next == engine.StatusFailed || next == engine.StatusSkipped
	case engine.StatusQueued, engine.StatusRunning:
		return next != engine.StatusInvalid && next != engine.StatusScheduled && next != engine.StatusSkipped && (s == engine.StatusQueued || next != engine.StatusQueued)
	case engine.StatusRetrying:
		return next == engine.StatusQueued || next == engine.StatusCancelled || next == engine.StatusDead
	case engine.StatusSucceeded, engine.StatusFailed, engine.StatusTimedOut, engine.StatusCancelled, engine.StatusLost, engine.StatusDead, engine.StatusSkipped:
		return false
	}
	return false
}
