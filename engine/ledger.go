package engine

import "time"

// Outcome is how a slot that did not fire ended.
type Outcome string

// The outcomes. A slot that fired is a run and has no entry in the ledger.
const (
	OutcomeSkipped Outcome = "skipped" // a rule of the definition kept it from firing
	OutcomeMissed  Outcome = "missed"  // no engine was running to fire it, and catch-up did not bring it back
)

// SlotReason is why.
type SlotReason string

// The reasons.
const (
	ReasonOverlap   SlotReason = "overlap"    // the run before it had not ended
	ReasonPaused    SlotReason = "paused"     // the job was paused
	ReasonBlackout  SlotReason = "blackout"   // the definition excludes it
	ReasonOutage    SlotReason = "outage"     // no engine was running
	ReasonCatchUp   SlotReason = "catch_up"   // outside the catch-up policy or its window
	ReasonReplaced  SlotReason = "replaced"   // a later slot took its place while it waited
	ReasonQueueFull SlotReason = "queue_full" // too many runs of the job were waiting
	ReasonEdited    SlotReason = "edited"     // an edit took the slot away between its preparation and its time
	ReasonCancelled SlotReason = "cancelled"  // a user cancelled the prepared run before its time
)

// SlotRange is a range of consecutive slots of one job that ended alike. It grows as more of the same follow:
// a write with a larger Count replaces one with a smaller, never the other way round.
type SlotRange struct {
	ID        string     `json:"id"` // SlotRangeID(uid, From)
	JobUID    string     `json:"job_uid"`
	Namespace string     `json:"namespace"`
	Job       string     `json:"job"`
	From      time.Time  `json:"from"` // the first slot
	To        time.Time  `json:"to"`   // the last slot
	Count     int64      `json:"count"`
	Outcome   Outcome    `json:"outcome"`
	Reason    SlotReason `json:"reason"`
	// Generation is that of the definition by whose schedule the slots follow each other, 0 in what earlier versions wrote. Of one slot
	// of a root it may be that of its wave.
	Generation int64 `json:"generation,omitempty"`
}

// DeadLetter is a run that used up its retries.
type DeadLetter struct {
	RunID     string    `json:"run_id"`
	Namespace string    `json:"namespace"`
	JobUID    string    `json:"job_uid"`
	Job       string    `json:"job"`
	Error     string    `json:"error"`
	Attempts  int       `json:"attempts"`
	At        time.Time `json:"at"`
}
