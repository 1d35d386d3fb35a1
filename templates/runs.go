package templates

import "time"

// RunRow is a run in a table.
type RunRow struct {
	ID       string
	Job      string
	Status   string
	Reason   string
	Trigger  string // in words: "schedule", "by hand", …
	Slot     time.Time
	Created  time.Time
	Started  time.Time
	Finished time.Time
	Attempt  int
	Progress *Progress
	// Ended tells that nothing more happens by itself.
	Ended bool
}

// Progress is how far a program says it is.
type Progress struct {
	Fraction float64 // 0 … 1
	Message  string
}

func (r RunRow) took() time.Duration { return r.Finished.Sub(r.Started) }

// Runs is the list of runs.
type Runs struct {
	Page    Page
	Filter  RunFilter
	Problem string
	Rows    []RunRow
	Pager   Pager
	// Live is where the list is fetched again; "" on pages that do not change.
	Live string
}

// RunFilter is what the list is narrowed to, as the form says it.
type RunFilter struct {
	Job, Status, Tier, Since, Text string
	Statuses, Tiers                []string
	Spans                          []Option
}

// Filtered tells whether anything is narrowed.
func (f RunFilter) Filtered() bool {
	return f.Job != "" || f.Status != "" || f.Tier != "" || f.Since != "" || f.Text != ""
}

// Option is a choice of a list.
type Option struct{ Value, Name string }
