package templates

import (
	"strconv"
	"time"
)

// DAG is the page of one DAG: what it is made of, what comes, what was, and how long it took.
type DAG struct {
	Shown

	Graph     Graph
	View      string // of the tasks, as the address asks for it
	Roots     []ScheduleSlots
	MoreRoots int // whose slots are not listed
	Waves     []WaveRow
	MoreWaves string // address of the earlier ones; "" for none
}

// WaveRow is a wave in a list.
type WaveRow struct {
	ID       string
	Epoch    int64
	Status   string
	Reason   string
	Trigger  string
	By       string
	Slot     time.Time
	Created  time.Time
	Started  time.Time
	Rested   time.Duration // between an end and a resume
	Finished time.Time
	Tally    string // in words: "5 tasks succeeded, 1 failed"
}

// DAGWaves is the list of a DAG's waves.
type DAGWaves struct {
	Page  Page
	Head  Head
	Waves []WaveRow
	Pager Pager
	Live  string
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func dagPath(name, rest string) string { return "/dags/" + name + rest }
