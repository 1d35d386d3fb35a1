package templates

import (
	"net/url"
	"strconv"
	"time"
)

// Definitions is the list of jobs, or of DAGs.
type Definitions struct {
	Page    Page
	Kind    *Kind
	Problem string // what of the address was not understood; "" for nothing
	Filter  ListFilter
	Rows    []DefinitionRow
	Pager   Pager
	Partial bool            // the page is short because what matches is rare
	First   int             // how many, the first by name, were looked at, where there are more; 0: all
	Live    string          // where the list is fetched again
	RunKey  string          // what is started from this page is started once
	Starred map[string]bool // what the reader has starred, by name
}

// part says what of the definitions was not looked at; "" where all were.
func (v Definitions) part() string {
	switch {
	case v.First > 0:
		return "Only the first " + strconv.Itoa(v.First) + " " + v.Kind.Title + " by name were searched. Filter by name to find others."
	case v.Partial:
		return "Few " + v.Kind.plural() + " match, and the search is not complete. The next page continues it."
	}
	return ""
}

// leftOut says what the order leaves out.
func (v Definitions) leftOut() string { return v.Kind.leftOut[v.Filter.Order] }

// ListFilter is what the list is narrowed to and ordered by.
type ListFilter struct {
	Text, Label, State, Tier, Order string
	States, Tiers                   []Option // to choose from
}

// Filtered reports whether anything is narrowed.
func (f ListFilter) Filtered() bool {
	return f.Text != "" || f.Label != "" || f.State != "" || f.Tier != ""
}

// address is that of the list with another order or label.
func (v Definitions) address(name, value string) string {
	f, query := v.Filter, url.Values{}
	for key, have := range map[string]string{"q": f.Text, "label": f.Label, "state": f.State, "tier": f.Tier, "order": f.Order} {
		if key == name {
			have = value
		}
		if have != "" && (key != "order" || have != "name") {
			query.Set(key, have)
		}
	}
	if len(query) == 0 {
		return v.Kind.Address("")
	}
	return v.Kind.Address("?" + query.Encode())
}

// sorted is the direction of the order, as a table head says it; "" where the list is in another one.
func (v Definitions) sorted(order string) string {
	switch chosen := v.Filter.Order; {
	case chosen != order && (chosen != "" || order != "name"):
		return ""
	case order == "name" || order == "next":
		return "ascending"
	}
	return "descending"
}

// DefinitionRow is a definition in the list.
type DefinitionRow struct {
	Name        string
	Description string
	Labels      []string // "key=value"
	Schedule    string   // of a job: in words; of a DAG: how many tasks it has
	Note        string   // what is said below: the tier of a job, the schedules of a DAG's roots; "" for nothing
	Next        time.Time
	NextLocal   string // in the schedule's zone, with its name; "" if that is UTC
	Paused      bool
	Starred     bool          // by its reader
	Removing    bool          // it is about to be deleted
	Failures    int           // how many runs, or waves, failed one after the other up to now
	Late        time.Duration // 0: it is not
	Strip       []Mark        // the oldest first
	Rate        string        // "98%"; "" before anything has ended
	RateOf      int           // how many that is of
	Trend       Spark
	Took        string // the last one
}

// Mark is a run or a wave in a strip, which leads to it.
type Mark struct {
	ID     string
	Name   string // of a wave; "" for a run
	Status string
	Weight float64 // as in StripCell
	At     time.Time
	Took   string
}

func (m Mark) words(z Zone) string {
	words := statusLook(m.Status).word + ", " + z.Words(m.At)
	if m.Name != "" {
		words = m.Name + ", " + words
	}
	if m.Took != "" {
		words += ", took " + m.Took
	}
	return words
}

// WaveName names a wave by its epoch, which it has from when it opens.
func WaveName(epoch int64) string {
	if epoch == 0 {
		return "upcoming wave"
	}
	return "wave " + strconv.FormatInt(epoch, 10)
}

func markCells(marks []Mark) []StripCell {
	cells := make([]StripCell, len(marks))
	for i, mark := range marks {
		cells[i] = StripCell{Status: mark.Status, Weight: mark.Weight}
	}
	return cells
}

func stripWidth(marks int) string { return strconv.Itoa(max(marks, 1) * stripStep) }

// failed says how many of its runs, or waves, failed up to now.
func (k *Kind) failed(n int) string {
	if n == 1 {
		return "the last " + k.makes + " failed"
	}
	return "the last " + strconv.Itoa(n) + " " + k.makes + "s failed"
}

func jobState(paused bool) string {
	if paused {
		return "paused"
	}
	return "active"
}

func queryEscape(text string) string { return url.QueryEscape(text) }
