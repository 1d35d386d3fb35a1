package templates

import (
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// Jobs is the list of jobs.
type Jobs struct {
	Page    Page
	Problem string // what of the address was not understood; "" for nothing
	Filter  JobFilter
	Rows    []JobRow
	Pager   Pager
	Partial bool   // the page is short because what matches is rare
	Live    string // where the list is fetched again
}

// JobFilter is what the list is narrowed to and ordered by.
type JobFilter struct {
	Text, Label, State, Tier, Order string
	States, Tiers                   []Option
}

// Filtered reports whether anything is narrowed.
func (f JobFilter) Filtered() bool {
	return f.Text != "" || f.Label != "" || f.State != "" || f.Tier != ""
}

// address is that of the list in another order.
func (f JobFilter) address(order string) string { return f.with("order", order) }

// labelled is that of the list narrowed to a label.
func (f JobFilter) labelled(label string) string { return f.with("label", label) }

func (f JobFilter) with(name, value string) string {
	query := url.Values{}
	for key, have := range map[string]string{"q": f.Text, "label": f.Label, "state": f.State, "tier": f.Tier, "order": f.Order} {
		if key == name {
			have = value
		}
		if have != "" && (key != "order" || have != "name") {
			query.Set(key, have)
		}
	}
	if len(query) == 0 {
		return "/jobs"
	}
	return "/jobs?" + query.Encode()
}

// left says what an order leaves out.
func (f JobFilter) left() string {
	switch f.Order {
	case "next":
		return "In the order of the next slot: jobs that are paused or have none are left out."
	case "last":
		return "In the order of the last run: jobs that have not run are left out."
	case "failures":
		return "By how many of the latest 1,000 failures of 7 days are theirs: jobs without one are left out."
	}
	return ""
}

// JobRow is a job in the list.
type JobRow struct {
	Name        string
	Description string
	Labels      []string // "key=value"
	Schedule    string   // in words
	Zone        string   // of the schedule; "" if it is UTC
	Next        time.Time
	NextLocal   string // in that zone; "" if it is UTC
	Paused      bool
	Failures    int           // how many runs failed in a row up to now
	Late        time.Duration // 0: it is not
	Tier        string
	Strip       []JobMark // the oldest first
	Rate        string    // "98%"; "" before anything has ended
	RateOf      int       // how many runs that is of
	Trend       Spark
	Took        string // the last run
}

// JobMark is a run in a job's strip, which leads to it.
type JobMark struct {
	ID     string
	Status string
	Weight float64 // as in StripCell
	At     time.Time
	Took   string
}

func (m JobMark) words() string {
	words := statusLook(m.Status).word + ", " + utcTime(m.At)
	if m.Took != "" {
		words += ", took " + m.Took
	}
	return words
}

func markCells(marks []JobMark) []StripCell {
	cells := make([]StripCell, len(marks))
	for i, mark := range marks {
		cells[i] = StripCell{Status: mark.Status, Weight: mark.Weight}
	}
	return cells
}

func stripWidth(marks int) string { return strconv.Itoa(max(marks, 1) * stripStep) }

func failuresWords(n int) string {
	if n == 1 {
		return "the last run failed"
	}
	return fmt.Sprintf("the last %d runs failed", n)
}

func jobState(paused bool) string {
	if paused {
		return "paused"
	}
	return "active"
}

func queryEscape(text string) string { return url.QueryEscape(text) }
