package attempt

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// soon is the wait for what is on the way already.
const soon = time.Second

// Times are those that supervision goes by.
type Times struct {
	LockTTL time.Duration // how long a lock lasts without being refreshed
	Margin  time.Duration // added to an instant at which a lock could expire
}

// Found is what the queue's answer about an attempt means. One of its fields is set, or none: then nothing is to be done.
type Found struct {
	AskAt     time.Time // ask again then
	Unknown   bool      // the queue does not have the task of a queued attempt: publish it again
	Withdrawn bool      // a queued attempt was revoked: no executor will ever claim it
	Lost      bool      // its lock has gone, and nothing says that it has ended: declare it lost, and ask again at AskAt
}

// Inspected returns the meaning of the queue's answer for the current attempt, which is queued or running.
func Inspected(r *engine.Run, state engine.AttemptState, revoking bool, times Times, now time.Time) Found {
	if r.Status == engine.StatusQueued {
		switch {
		case state.Last == "" && state.Waits: // it keeps its place
			return Found{}
		case state.Last == "":
			return Found{Unknown: true}
		case state.Last != engine.ResultRevoked: // the news of its claim is on the way
			return Found{AskAt: now.Add(soon)}
		}
		return Found{Withdrawn: !revoking}
	}
	switch {
	case state.LockHeld:
		return Found{AskAt: later(state.LockUntil, now).Add(times.Margin)}
	case state.Last == engine.ResultStarted || state.Last == engine.ResultProgress || state.Last == "":
		if heard := state.Since.Add(times.LockTTL); heard.After(now) {
			// No executor could keep its lock or report an end while the queue was away. One that has ended has a report to
			// send again; one that is dead says nothing then either.
			return Found{AskAt: sooner(heard, now.Add(times.LockTTL)).Add(times.Margin)}
		}
		return Found{Lost: true, AskAt: now.Add(times.LockTTL)}
	}
	return Found{AskAt: now.Add(soon)} // its end is on the way
}

func sooner(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
