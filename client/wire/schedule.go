package wire

import (
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// PreviewRequest asks when a schedule would fire. Schedule, every, after and at exclude each other.
type PreviewRequest struct {
	Schedule spec.Strings  `json:"schedule,omitempty" doc:"A cron expression or a list of them, whose slots are united"`
	Every    spec.Duration `json:"every,omitzero" doc:"The time between two slots"`
	After    spec.Duration `json:"after,omitzero" doc:"The time between the end of a run and the next slot"`
	At       time.Time     `json:"at,omitzero" doc:"The only slot"`
	Timezone string        `json:"timezone,omitempty" doc:"IANA name; UTC if absent" example:"Europe/Berlin"`
	From     time.Time     `json:"from,omitzero" doc:"No slot before it"`
	Until    time.Time     `json:"until,omitzero" doc:"No slot from it on"`
	Exclude  spec.Strings  `json:"exclude,omitempty" doc:"A cron expression or a list of them, whose slots are passed over"`
	Key      string        `json:"key,omitempty" doc:"What H in an expression spreads by: namespace/name of the job"`
	Start    time.Time     `json:"start,omitzero" doc:"Slots after this instant; now if absent"`
	Count    int           `json:"count,omitempty" minimum:"0" maximum:"1000" doc:"How many; 10 if absent"`
}

// Preview is the next slots of a schedule.
type Preview struct {
	Items       []Slot `json:"items"`
	Description string `json:"description" doc:"The schedule in words" example:"at 03:00, every day, Europe/Berlin"`
}

// Slot is one planned instant.
type Slot struct {
	Slot  time.Time `json:"slot" doc:"In UTC"`
	Local time.Time `json:"local" doc:"The same instant in the schedule's time zone"`
	Note  string    `json:"note" doc:"What is unusual about it, in words; mostly empty"`
}

// LedgerEntry is one line of a job's slot ledger: a slot that fired, or a range of slots that did not.
type LedgerEntry struct {
	From    time.Time `json:"from" doc:"The first slot"`
	To      time.Time `json:"to" doc:"The last slot"`
	Count   int64     `json:"count" doc:"How many slots"`
	Outcome string    `json:"outcome" enum:"fired,skipped,missed"`
	Reason  string    `json:"reason" doc:"Why: schedule, catch_up or backfill where it fired; overlap, paused, blackout, outage, catch_up, … where it did not"`
	Run     string    `json:"run,omitempty"`
	Status  string    `json:"status,omitempty" doc:"Of the run"`
	// Root is set by the command line, where it lists the slots of several roots together.
	Root string `json:"root,omitempty" doc:"Of a DAG: which root, where several are listed together"`
}
