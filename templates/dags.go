package templates

import (
	"net/url"
	"strconv"
	"strings"
	"time"
)

// DAGs is the list of DAGs.
type DAGs struct {
	Page    Page
	Problem string // what of the address was not understood; "" for nothing
	Filter  DAGFilter
	Rows    []DAGRow
	Pager   Pager
	Partial int    // how many DAGs were looked at, where there are more; 0: all
	Live    string // where the list is fetched again
}

// DAGFilter is what the list is narrowed to and ordered by.
type DAGFilter struct {
	Text, State, Order string
	States             []Option
}

// Filtered reports whether anything is narrowed.
func (f DAGFilter) Filtered() bool { return f.Text != "" || f.State != "" }

// address is that of the list in another order.
func (f DAGFilter) address(order string) string {
	query := url.Values{}
	for key, value := range map[string]string{"q": f.Text, "state": f.State, "order": order} {
		if value != "" && (key != "order" || value != "name") {
			query.Set(key, value)
		}
	}
	if len(query) == 0 {
		return "/dags"
	}
	return "/dags?" + query.Encode()
}

// DAGRow is a DAG in the list.
type DAGRow struct {
	Name        string
	Description string
	Labels      []string // "key=value"
	Tasks       int
	Schedule    string // of its roots, in words
	Next        time.Time
	NextRoot    string
	Paused      bool
	Failures    int        // how many waves failed in a row up to now
	Strip       []WaveMark // the oldest first
	Rate        string     // "98%"; "" before anything has ended
	RateOf      int        // how many waves that is of
	Trend       Spark
	Took        string // the last wave
}

// WaveMark is a wave in a DAG's strip, which leads to it.
type WaveMark struct {
	ID     string
	Epoch  int64
	Status string
	Weight float64 // as in StripCell
	At     time.Time
	Took   string
}

func (m WaveMark) words() string {
	words := waveName(m.Epoch) + ", " + statusLook(m.Status).word + ", " + utcTime(m.At)
	if m.Took != "" {
		words += ", took " + m.Took
	}
	return words
}

// waveName names a wave by its epoch, which it has from when it opens.
func waveName(epoch int64) string {
	if epoch == 0 {
		return "upcoming wave"
	}
	return "wave " + strconv.FormatInt(epoch, 10)
}

func waveCells(marks []WaveMark) []StripCell {
	cells := make([]StripCell, len(marks))
	for i, mark := range marks {
		cells[i] = StripCell{Status: mark.Status, Weight: mark.Weight}
	}
	return cells
}

func waveFailures(n int) string {
	if n == 1 {
		return "the last wave failed"
	}
	return "the last " + strconv.Itoa(n) + " waves failed"
}

// waveStripWords says what a strip of waves shows: "last 20 waves: 18 succeeded, 2 failed".
func waveStripWords(marks []WaveMark) string {
	return strings.Replace(strings.Replace(stripWords(waveCells(marks)), "runs:", "waves:", 1), "last run:", "last wave:", 1)
}
