package templates

import "time"

// Job is the page of one job: what comes, what was, and how long it took.
type Job struct {
	Page        Page
	Head        Head
	Hindrances  []Hindrance
	Binary      string
	BinaryName  string // to link to; "" for a digest
	Facts       []Fact
	Labels      []string
	RunsOn      []string // labels that its executors must have, "key=value"
	Created     time.Time
	CreatedBy   string
	Updated     time.Time
	UpdatedBy   string
	Generation  int64
	Next        ScheduleSlots
	Runs        []RunRow
	Strip       []Mark
	Rate        string // of what has ended; "" before anything has
	RateOf      int
	Duration    Chart
	Lag         Chart
	Live        string
	Unreachable string // what could not be asked for, in words
}
