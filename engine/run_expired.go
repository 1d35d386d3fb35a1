package engine

import "time"

// ExpiredRuns is what a store has deleted of old runs at one time.
type ExpiredRuns struct {
	Count int
	// Upto is until when they ended, about: how far the deletion has come. Zero if there were none.
	Upto time.Time
	// Done is the instant before which the store has nothing left that the expiry takes; zero where it does not know. A caller
	// continues from there, also if none was deleted.
	Done time.Time
	// Beside are those of them beside which something may be kept, see Run.KeepsMore. A store may give others, too.
	Beside []Run
}

// KeepsMore reports whether something is kept of a run that has ended, or may be, beside its document: output or artifacts,
// or a dead letter.
func (r *Run) KeepsMore() bool {
	if r.Status == StatusDead || len(r.Artifacts) > 0 {
		return true
	}
	for i := range r.Attempts {
		// An attempt that was lost has no result that says so, and may have stored output all the same.
		if output := r.Attempts[i].Output; output == nil || output.Chunks > 0 {
			return true
		}
	}
	return false
}
