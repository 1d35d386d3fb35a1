package templates

import "time"

// Run is the page of one run.
type Run struct {
	Page     Page
	ID       string
	Job      string
	Status   string
	Reason   string
	Trigger  string
	By       string
	Slot     time.Time
	Created  time.Time
	Queued   time.Time
	Started  time.Time
	Finished time.Time
	RetryAt  time.Time
	Lag      string // from its slot to its start, in words; "" where there is none
	Ended    bool
	Progress *Progress

	Tier, Class string
	Binary      string
	BinaryName  string
	Version     int
	Digest      string
	Payload     string
	Args        []Fact

	CanCancel, CanRetry, Cancelling bool

	Attempts []Attempt
	// ShownAttempt is whose output the page shows, 0 before the first; Newer tells that a later one has begun since.
	ShownAttempt int
	Newer        int
	Output       Output
	Live         string
}

func (v Run) took() time.Duration { return v.Finished.Sub(v.Started) }

// Attempt is one try.
type Attempt struct {
	N        int
	Status   string
	Executor string
	Started  time.Time
	Took     string // in words; "" while it goes on
	Exit     string // "0", "signal SIGKILL"; "" while it goes on
	CPU      string
	Memory   string
	Output   string // its size, in words
	Error    string
}

// Output is what an attempt has printed, as far as the page shows it at first.
type Output struct {
	Run      string
	Attempt  int
	Piece    Piece
	End      int64 // bytes: where what follows begins
	Size     int64
	Complete bool
	Missing  string
	// Past tells that the reader asked for an earlier piece by its address, without a script.
	Past bool
}

// Piece is a part of an output, readable: no control characters are left in it.
type Piece struct {
	Text string
	// Before is the offset at which the piece begins, 0 if nothing is before it.
	Before int64
	// Earlier is where the piece before it is, for a reader without a script.
	Earlier string
}
