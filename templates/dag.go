package templates

import (
	"strconv"
	"time"
)

// DAGHead stands above every page of a DAG.
type DAGHead struct {
	Name        string
	Description string
	Summary     string // how many tasks, in which rhythm
	Paused      bool
	PausedAt    time.Time
	PausedBy    string
	Tab         DAGTab
	RunKey      string // makes pressing the button twice one wave
	Payload     string // of the definition, as JSON
	Args        string // of the definition, NAME=value, one a line
}

// DAGTab is one of a DAG's pages.
type DAGTab string

// The pages of a DAG.
const (
	DAGNow        DAGTab = "now"
	DAGGrid       DAGTab = "grid"
	DAGSlots      DAGTab = "slots"
	DAGDefinition DAGTab = "definition"
	DAGBackfill   DAGTab = "backfill"
)

var dagTabs = []struct {
	tab        DAGTab
	name, path string
}{
	{DAGNow, "Now", ""}, {DAGGrid, "Grid", "/grid"}, {DAGSlots, "Slots", "/slots"}, {DAGDefinition, "Definition", "/definition"}, {DAGBackfill, "Backfill", "/backfill"},
}

// DAG is the page of one DAG: what it is made of, what comes, what was, and how long it took.
type DAG struct {
	Page       Page
	Head       DAGHead
	Hindrances []Hindrance
	Graph      Graph
	Roots      []RootSlots
	MoreRoots  int // whose slots are not listed
	Facts      []Fact
	Labels     []string
	Created    time.Time
	CreatedBy  string
	Updated    time.Time
	UpdatedBy  string
	Generation int64
	Waves      []WaveRow
	MoreWaves  string // address of the earlier ones; "" for none
	Strip      []WaveMark
	Rate       string
	RateOf     int
	Duration   Chart
	Live       string
}

// RootSlots is what comes of a root.
type RootSlots struct {
	Root     string
	Schedule string // in words; "" for a root without one
	Zone     string // "" if it is UTC
	Next     []Slot
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
	Head  DAGHead
	Waves []WaveRow
	Pager Pager
	Live  string
}

// DAGAct is a page, or a dialog, that asks before something is done to a DAG.
type DAGAct struct {
	Page    Page
	Head    DAGHead
	Act     string // "run", "delete"
	Problem string
	// What was typed, to be shown again.
	Payload, Variables, Confirm string
}

// DAGText is the page of a definition and of the forms it has had.
type DAGText struct {
	Page        Page
	Head        DAGHead
	Definition  string // YAML
	Generations Generations
}

// DAGCalendar is what became of the slots of a DAG's root in a month.
type DAGCalendar struct {
	Head     DAGHead
	Root     string
	Roots    []Crumb // the others, by their addresses; the present one has none
	Calendar Calendar
}

// DAGPlan is the page that passes through a DAG for past slots.
type DAGPlan struct {
	Page     Page
	Head     DAGHead
	From, To string // as typed, on the clock of the zone
	Zone     string
	Problem  string
	Planned  bool // the waves below are a plan
	New      int
	Waves    []PlannedWave
	More     int // beyond those that are listed
}

// PlannedWave is a wave of a backfill.
type PlannedWave struct {
	At     time.Time
	Local  string
	Roots  string // whose slots it has, in words
	Wave   string // "" if it is to be made
	Status string
}

func dagPath(name, rest string) string { return "/dags/" + name + rest }

func number(n int64) string { return strconv.FormatInt(n, 10) }
