package wire

import "time"

// LedgerCheck is what the check of the slot ledger has found.
type LedgerCheck struct {
	Missing int                `json:"missing" doc:"How many slots are neither runs nor in the ledger: 0, or something is wrong"`
	Items   []LedgerDifference `json:"items" doc:"Those slots, the newest first, at most 1000"`
	Through time.Time          `json:"through,omitzero" doc:"Until when all slots have been looked at; absent before the first pass has ended"`
	At      time.Time          `json:"at,omitzero" doc:"When the last pass ended"`
	Slots   int64              `json:"slots" doc:"How many slots this server has looked at since it started"`
	Behind  int                `json:"behind" doc:"Jobs and roots that are not as far: paused, or with slots that nobody has dealt with yet"`
}

// LedgerDifference is a slot that a schedule names and that is neither a run nor in the ledger.
type LedgerDifference struct {
	Namespace string    `json:"namespace"`
	Owner     string    `json:"owner" example:"nightly-report" doc:"A job, or dag/root"`
	Slot      time.Time `json:"slot"`
}
