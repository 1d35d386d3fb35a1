package wire

import (
	"encoding/json"
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// Job is a definition and what is known about it.
type Job struct {
	UID          string    `json:"uid" doc:"Made at creation: a name deleted and made again is another job" example:"h5zq3x7rk2mnp4ab"`
	Namespace    string    `json:"namespace" example:"default"`
	Name         string    `json:"name" example:"nightly-report"`
	Generation   int64     `json:"generation" doc:"1 at creation, one more with each edit of the definition"`
	Revision     int64     `json:"revision" doc:"1 at creation, one more with each change of any kind; the ETag"`
	Paused       bool      `json:"paused" doc:"The schedule stands still"`
	PausedAt     time.Time `json:"paused_at,omitzero"`
	PausedBy     string    `json:"paused_by,omitempty"`
	PausedReason string    `json:"paused_reason,omitempty" doc:"Why, as whoever paused it said"`
	Pending      bool      `json:"pending" doc:"The engine has yet to act on the last change: a matter of milliseconds"`
	Schedule     string    `json:"schedule" doc:"When it runs, in words" example:"at 03:00, every day, Asia/Dhaka"`
	NextSlot     time.Time `json:"next_slot,omitzero" doc:"When it fires next; absent while it is paused, and where nothing is planned"`
	CreatedAt    time.Time `json:"created_at"`
	CreatedBy    string    `json:"created_by,omitempty"`
	UpdatedAt    time.Time `json:"updated_at" doc:"Of the last edit of the definition"`
	UpdatedBy    string    `json:"updated_by,omitempty"`
	Message      string    `json:"message,omitempty" doc:"Why it was edited, as the editor said"`
	Spec         spec.Job  `json:"spec" doc:"The definition, with defaults filled in"`
	Source       string    `json:"source,omitempty" doc:"The YAML as the user wrote it; absent in lists, where it came as JSON, and where it is longer than 256 KiB"`
}

// Generation is one earlier or present form of a definition.
type Generation struct {
	Generation int64     `json:"generation"`
	At         time.Time `json:"at"`
	By         string    `json:"by,omitempty"`
	Message    string    `json:"message,omitempty"`
	Spec       spec.Job  `json:"spec"`
}

// RunRequest asks for a run by hand.
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
