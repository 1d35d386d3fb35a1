package engine

import (
	"errors"
	"slices"
	"time"
)

// DefaultNamespace owns everything until namespaces arrive.
const DefaultNamespace = "default"

// The errors that every store returns. Adapters wrap them with the operation; callers check with errors.Is.
var (
	// ErrNotFound means that the thing asked for is not there.
	ErrNotFound = errors.New("not found")
	// ErrExists means that a thing of this name or id is there already.
	ErrExists = errors.New("exists already")
	// ErrConflict means that the document was changed since it was read: read it again before the next try.
	ErrConflict = errors.New("changed since it was read")
	// ErrFull means that there is no space for what was to be written, and that nothing of it was.
	ErrFull = errors.New("the disk is full: free some space, nothing was lost that was confirmed")
	// ErrDamaged means that what is stored is damaged, so that nothing is read from it or written to it any more.
	ErrDamaged = errors.New("the database is damaged")
)

// ScheduledTask is the next upcoming instance of a job, or of a root of a DAG: the only planned slot that is stored. All
// slots before Slot are accounted for (as runs, or in the slot ledger); Slot itself is not yet. Where a definition has no
// schedule any more, its task stays, with Slot Parked: it says what was accounted for.
type ScheduledTask struct {
	ID         string    `json:"id"` // the job's uid, or RootID
	Shard      int       `json:"shard"`
	Slot       time.Time `json:"slot"`
	RunAt      time.Time `json:"run_at"` // when the engine must look at it: Slot, or Parked while the job is paused
	Generation int64     `json:"generation"`
	Epoch      int64     `json:"epoch,omitempty"` // of a DAG's root: the wave that Slot belongs to, as far as it is known
	Revision   int64     `json:"revision"`        // +1 with each write
	Namespace  string    `json:"namespace"`
	Job        string    `json:"job"` // name, or "dag/root", for the list of what comes next
	// Accounted is the latest slot that is a run or in the ledger, zero for none. Since is the instant from which the task knows
	// which slots are: those of the present schedule before Slot, and Taken.
	Accounted time.Time `json:"accounted,omitzero"`
	Since     time.Time `json:"since,omitzero"`
	// Taken are slots that have a run or are in the ledger although they are not of the current schedule: from Slot on those of a
	// backfill; before it the latest that an earlier schedule accounted for, or a fixed delay.
	Taken []time.Time `json:"taken,omitempty"`
	// PausedUntil is when the pause ended that the engine heard of last, zero for none and Parked during the pause: slots from Slot on up to
	// it came in a pause.
	PausedUntil time.Time `json:"paused_until,omitzero"`
	// Waiting are slots of a DAG's root before Slot that are caught up one wave after the other, and have not had their turn.
	Waiting []time.Time `json:"waiting,omitempty"`
}

// Paused reports whether the engine has stopped the schedule.
func (t *ScheduledTask) Paused() bool { return t.PausedUntil.Equal(Parked) }

// Undecided returns the first slot that may be neither a run nor in the ledger yet.
func (t *ScheduledTask) Undecided() time.Time {
	if len(t.Waiting) > 0 {
		return t.Waiting[0]
	}
	return t.Slot
}

// Takes reports whether a slot is one of Taken.
func (t *ScheduledTask) Takes(slot time.Time) bool { return slices.ContainsFunc(t.Taken, slot.Equal) }

// Parked is the RunAt of a job whose schedule is suspended.
var Parked = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
