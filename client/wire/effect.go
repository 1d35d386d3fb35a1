package wire

import (
	"encoding/json"
	"time"
)

// Effect is an entry of the effect ledger: something that a run's program does once, however many attempts it takes.
type Effect struct {
	Run     string `json:"run" example:"h5zq3x7rk2mnp4ab-s1767229200000"`
	Key     string `json:"key" doc:"The program's own name for it" example:"charge-2026-01"`
	State   string `json:"state" enum:"open,done"`
	Attempt int    `json:"attempt" doc:"The attempt that opened it last"`
	Token   uint64 `json:"token" doc:"The fencing token of that attempt"`

	CreatedAt time.Time `json:"created_at" doc:"When it was opened first"`
	OpenedAt  time.Time `json:"opened_at" doc:"When that attempt opened it"`
	DoneAt    time.Time `json:"done_at,omitzero" doc:"When it was closed"`

	Result json.RawMessage `json:"result,omitempty" doc:"What it was closed with, any JSON"`
}
