package templates

import "time"

// JobHead stands above every page of a job.
type JobHead struct {
	Name         string
	Description  string
	Schedule     string // in words
	Paused       bool
	PausedAt     time.Time
	PausedBy     string
	PausedReason string
	Tab          JobTab
	RunKey       string // makes pressing the button twice one run
	Payload      string // of the definition, as JSON
}

// JobTab is one of a job's pages.
type JobTab string

// The pages of a job.
const (
	JobNow        JobTab = "now"
	JobSlots      JobTab = "slots"
	JobDefinition JobTab = "definition"
	JobBackfill   JobTab = "backfill"
)

var jobTabs = []struct {
	tab        JobTab
	name, path string
}{
	{JobNow, "Now", ""}, {JobSlots, "Slots", "/slots"}, {JobDefinition, "Definition", "/definition"}, {JobBackfill, "Backfill", "/backfill"},
}

// Job is the page of one job: what comes, what was, and how long it took.
type Job struct {
	Page        Page
	Head        JobHead
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
	Zone        string // of the schedule; "" if it is UTC
	Next        []Slot
	Runs        []RunRow
	Strip       []JobMark
	Rate        string // of what has ended; "" before anything has
	RateOf      int
	Duration    Chart
	Lag         Chart
	Live        string
	Unreachable string // what could not be asked for, in words
}

// Hindrance is why a job does not run.
type Hindrance struct {
	Words string
	Stops bool
	Since time.Time
	At    time.Time
	Href  string // to the cure; "" for none
	Cure  string // what that is called
}

// Fact is a name and what it is.
type Fact struct{ Name, Value string }

// Slot is a slot to come.
type Slot struct {
	At    time.Time
	Local string // on the clock of the schedule's zone; "" if that is UTC
	Note  string // what is unusual about it
}

// LedgerRow is a line of the slot ledger.
type LedgerRow struct {
	From, To time.Time
	Count    int64
	Outcome  string
	Reason   string // in words
	Run      string
	Status   string
}

// JobAct is a page, or a dialog, that asks before something is done to a job.
type JobAct struct {
	Page    Page
	Head    JobHead
	Act     string // "run", "pause", "delete"
	Problem string
	// What was typed, to be shown again.
	Payload, Variables, Reason, Confirm string
}

// JobText is the page of a definition and of the forms it has had.
type JobText struct {
	Page        Page
	Head        JobHead
	Definition  string // YAML
	Generations Generations
}

// Backfill is the page that runs past slots.
type Backfill struct {
	Page     Page
	Head     JobHead
	From, To string // as typed, on the clock of the zone
	Zone     string
	Problem  string
	Planned  bool // the slots below are a plan
	New      int
	Slots    []BackfillSlot
	More     int // slots beyond those that are listed
}

// BackfillSlot is a slot of the range.
type BackfillSlot struct {
	At     time.Time
	Local  string
	Run    string // "" if it is to be made
	Status string
}
