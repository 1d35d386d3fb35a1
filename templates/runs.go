package templates

import (
	"slices"
	"time"
)

// RunRow is a run in a table.
type RunRow struct {
	ID       string
	Job      string
	Of       WaveRun
	Status   string
	Reason   string
	Trigger  string // in words: "schedule", "manual", …
	Slot     time.Time
	Created  time.Time
	Started  time.Time
	Finished time.Time
	Attempt  int
	Progress *Progress
	// Ended reports whether nothing more happens by itself.
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
	Notes   []string // how times that were typed are meant
	Rows    []RunRow
	Pager   Pager
	// Live is where the list is fetched again; "" on pages that do not change.
	Live string
	// Looked says in words how far back was looked for runs that are rare; "" where the page is full or there is no more.
	Looked string
	WhyNot *WhyNot
	// SearchAll leads to the search of the outputs of these runs.
	SearchAll string
}

// RunFilter is what the list is narrowed to, as the form says it.
type RunFilter struct {
	Job, DAG, Tier, By, Since, From, Until, Text string
	Chosen                                       []string // statuses
	Statuses, Tiers                              []string // to choose from
	Spans                                        []Option
	Bad                                          string // leads to what ended badly
}

// Filtered reports whether anything is narrowed.
func (f RunFilter) Filtered() bool {
	return f.Job != "" || f.DAG != "" || len(f.Chosen) > 0 || f.Tier != "" || f.By != "" || f.Since != "" || f.From != "" || f.Until != "" || f.Text != ""
}

func (f RunFilter) has(status string) bool { return slices.Contains(f.Chosen, status) }

// WhyNot says what kept a job from running.
type WhyNot struct {
	Job   string
	Any   bool // it has run, too
	Lines []string
	Slots []LedgerRow
	Next  time.Time
}

// Option is a choice of a list.
type Option struct{ Value, Name string }
