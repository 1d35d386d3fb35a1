package templates

import "time"

// Job is the page of one job.
type Job struct {
	Page        Page
	Name        string
	Description string
	Paused      bool
	PausedAt    time.Time
	PausedBy    string
	Pending     bool // the engine has not taken up the last change yet
	Schedule    string
	Binary      string
	BinaryName  string // to link to; "" for a digest
	Facts       []Fact
	Created     time.Time
	CreatedBy   string
	Updated     time.Time
	UpdatedBy   string

	Next       []Slot
	Runs       []RunRow
	Ledger     []LedgerRow
	LedgerMore bool

	Definition  string // YAML
	Generations []Generation
	RunKey      string // makes pressing the button twice one run
	Live        string
}

// Fact is a name and what it is.
type Fact struct{ Name, Value string }

// Slot is a slot to come.
type Slot struct {
	At   time.Time
	Note string // what is unusual about it
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

// Generation is a form that the definition has had.
type Generation struct {
	N       int64
	At      time.Time
	By      string
	Message string
}
