package wire

import "time"

// LedgerCheck is what the check of the slot ledger has found.
type LedgerCheck struct {
	Differences int                `json:"differences" doc:"How many slots did not end once: 0, or something is wrong"`
	Missing     int                `json:"missing" doc:"How many of the items are neither runs nor in the ledger"`
	Items       []LedgerDifference `json:"items" doc:"Those slots, the newest first, at most 1000"`
	Through     time.Time          `json:"through,omitzero" doc:"Until when all slots have been looked at; absent before the first pass has ended"`
	At          time.Time          `json:"at,omitzero" doc:"When the last pass ended"`
	Slots       int64              `json:"slots" doc:"How many slots this server has looked at since it started"`
	Behind      int                `json:"behind" doc:"Jobs and roots that are not as far: paused, or with slots not yet handled"`
}

// LedgerDifference is a slot that did not end once.
type LedgerDifference struct {
	Namespace string    `json:"namespace"`
	Owner     string    `json:"owner" example:"nightly-report" doc:"A job, or dag/root"`
	Slot      time.Time `json:"slot"`
	Kind      string    `json:"kind" enum:"missing,both,fired_twice,noted_twice,no_schedule" doc:"What is wrong with it"`
	Words     string    `json:"words" example:"neither run nor in the ledger" doc:"The same in words"`
}
