package templates

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Calendar is what became of the slots of a job, or of a root of a DAG, in a month.
type Calendar struct {
	Page     Page
	Head     Head
	Root     string  // "" for a job
	Roots    []Crumb // all that can be chosen
	NoRoot   bool    // the DAG has none with a schedule
	Month    string  // "November 2026"
	Zone     string
	Previous string // address; "" for none
	Next     string
	Weeks    [][]CalendarDay // from Monday; days of other months have N 0
	Problem  string

	Day      string // what is unfolded, in words; "" for nothing
	Ledger   []LedgerRow
	DayMore  bool
	DayHref  string // the runs of the day
	DayEmpty string // why nothing is there
}

// days says whose slots and days they are.
func (v Calendar) days() string {
	if v.Root != "" {
		return "slots of " + v.Root + ", days of " + v.Zone
	}
	return "days of " + v.Zone
}

// owner is how the command line names what has the slots.
func (v Calendar) owner() string {
	if v.Root != "" {
		return v.Head.Name + "/" + v.Root
	}
	return v.Head.Name
}

// CalendarDay is one day of it.
type CalendarDay struct {
	N               int
	Name            string // "Friday 20 November"
	Href            string // unfolds it; "" where there is nothing to unfold
	Today, Chosen   bool
	Fired, Bad      int
	ByHand, Planned int
	Skipped, Missed int64
	More            bool
	Heat            int // 0 … 4: how much fired beside the fullest day of the month
	Reasons         []string
}

// words says all of a day.
func (d CalendarDay) words() string {
	var parts []string
	say := func(n int64, what string) {
		if n > 0 {
			parts = append(parts, strconv.FormatInt(n, 10)+" "+what)
		}
	}
	if d.Fired > 0 {
		parts = append(parts, d.fired()+" fired")
	}
	say(int64(d.Bad), "failed")
	say(d.Skipped, "skipped")
	say(d.Missed, "missed")
	say(int64(d.ByHand), "manual")
	say(int64(d.Planned), "upcoming")
	if len(parts) == 0 {
		return d.Name + ": nothing"
	}
	return d.Name + ": " + strings.Join(parts, ", ")
}

func (d CalendarDay) fired() string {
	if d.More {
		return fmt.Sprintf("%d+", d.Fired)
	}
	return strconv.Itoa(d.Fired)
}

func (d CalendarDay) heat() string { return "heat-" + strconv.Itoa(d.Heat) }

func (d CalendarDay) nothing() bool {
	return d.Fired == 0 && d.Skipped == 0 && d.Missed == 0 && d.ByHand == 0 && d.Planned == 0
}

var weekOrder = []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday, time.Sunday}
