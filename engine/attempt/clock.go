package attempt

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// ours returns an instant of an executor's clock by the engine's: as it is where that can be, else not before earliest, and never after
// now, when the engine hears of it. An executor's clock may be off by minutes, and schedules follow the ends of runs.
func ours(at, earliest, now time.Time) time.Time {
	if at.Before(earliest) {
		at = earliest
	}
	if at.After(now) {
		at = now.Truncate(time.Microsecond)
	}
	return at
}

// date takes the times of an attempt's end. All are moved alike, so that what lies between them stays as it was measured.
func date(a *engine.Attempt, f *engine.Finish, now time.Time) {
	first := f.FinishedAt
	for _, at := range []time.Time{f.StartedAt, f.FetchedAt} {
		if !at.IsZero() {
			first = at
		}
	}
	earliest := a.QueuedAt
	if !a.ClaimedAt.IsZero() {
		earliest = a.ClaimedAt
	}
	shift := ours(f.FinishedAt, earliest.Add(f.FinishedAt.Sub(first)), now).Sub(f.FinishedAt)
	move := func(at time.Time) time.Time {
		if at.IsZero() {
			return at
		}
		return at.Add(shift)
	}
	a.FetchedAt, a.StartedAt, a.FinishedAt = move(f.FetchedAt), move(f.StartedAt), move(f.FinishedAt)
	if a.ClaimedAt.IsZero() {
		a.ClaimedAt = a.StartedAt
	}
}
