package wire

import (
	"encoding/json"
	"time"
)

// RunRequest triggers a run.
type RunRequest struct {
	Payload json.RawMessage   `json:"payload,omitempty" doc:"Any JSON value, given to the program on standard input instead of the definition's"`
	Args    map[string]string `json:"args,omitempty" doc:"Added to the program's environment"`
	At      time.Time         `json:"at,omitzero" doc:"Not before this time; absent: now"`
}

// BackfillRequest asks for the runs of past slots.
type BackfillRequest struct {
	From   time.Time `json:"from" doc:"The first instant of the range"`
	To     time.Time `json:"to" doc:"The first instant after the range"`
	DryRun bool      `json:"dry_run,omitempty" doc:"Only tell what would be run"`
}

// Backfill is what a backfill does, slot by slot.
type Backfill struct {
	Items  []BackfillSlot `json:"items"`
	New    int            `json:"new" doc:"How many runs it makes"`
	DryRun bool           `json:"dry_run"`
}

// BackfillSlot is one slot of the range.
type BackfillSlot struct {
	Slot   time.Time `json:"slot"`
	Run    string    `json:"run,omitempty" doc:"The run that the slot has already: it is left alone"`
	Status string    `json:"status,omitempty" doc:"Of that run"`
}

// OneOffRequest is the one-call form: run this program once.
type OneOffRequest struct {
	JobType      string          `json:"job_type" minLength:"1" doc:"The binary: name, name@version, name@alias or sha256:…" example:"report@stable"`
	ScheduleTime time.Time       `json:"schedule_time,omitzero" doc:"When; absent: now"`
	Payload      json.RawMessage `json:"payload,omitempty" doc:"Any JSON value, given to the program on standard input"`
	Retries      int             `json:"retries,omitempty" minimum:"0" maximum:"99" doc:"How often a failed attempt is tried again"`
}

// OneOff is the answer to it.
type OneOff struct {
	Job
	RunID string `json:"run_id" doc:"The run that it will have"`
}
