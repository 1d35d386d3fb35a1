package templates

import (
	"context"
	"strings"
	"time"
)

// Kind is what the pages of jobs and of DAGs differ by.
type Kind struct {
	Noun    string // "job"
	Title   string // of the list: "Jobs"
	Section Section
	id      string // "job", in names of elements and files
	path    string // "/jobs"
	makes   string // what its slots become: "run"
	tabs    []tabLink

	// What the dialogs say.
	run, payload, variables, variablesHint, pause, delete, deleteMany string
	// What the page of a backfill says.
	backfill, backfillHint, backfilled string
	// What the page of its slots says.
	day string
	// What its form says: where a program may be dropped.
	drop string
	// What its list says: above the columns, where there is nothing yet, and what an order leaves out.
	heading, scheduleHeading, notYet, first string
	leftOut                                 map[string]string
	// What its page says where nothing has run yet.
	noRuns string
}

type tabLink struct {
	tab        Tab
	name, path string
}

// Tab is one of a definition's pages.
type Tab string

// The pages of a definition; only a DAG has a grid.
const (
	TabNow        Tab = "now"
	TabGrid       Tab = "grid"
	TabSlots      Tab = "slots"
	TabDefinition Tab = "definition"
	TabBackfill   Tab = "backfill"
)

// The kinds.
var (
	KindJob = &Kind{
		Noun: "job", Title: "Jobs", Section: SectionJobs, id: "job", path: "/jobs", makes: "run",
		tabs: []tabLink{
			{TabNow, "Overview", ""}, {TabSlots, "Slots", "/slots"}, {TabDefinition, "Definition", "/definition"}, {TabBackfill, "Backfill", "/backfill"},
		},
		payload:       "JSON; the program reads it on standard input. If empty, the definition's payload is used.",
		variables:     "Environment",
		variablesHint: "One NAME=value per line, added to those of the definition for this run only.",
		pause:         "No slot fires until the job is resumed; its catch-up policy then decides about the slots in between. Running runs continue.",
		delete:        "Its schedule ends and its definition is deleted with all generations. Running runs finish; past runs stay in the history.",
		deleteMany:    "Their schedules end and their definitions are deleted with all generations. Running runs finish; past runs stay in the history.",
		backfill:      "Run past slots",
		backfillHint:  "Runs the slots of a range that have no run yet, one after another, the oldest first. The first step only lists them.",
		backfilled:    "Every slot of this range has run",
		day:           "Choose a day to see what became of each of its slots, and why a slot did not fire.",
		drop:          "into the form",
		heading:       "Job", scheduleHeading: "Schedule", notYet: "has not run",
		first:  "A job says which program runs, and when. Write one here, or keep it in a file and apply that:",
		noRuns: "No runs yet: this chart shows how long runs take and how late they start.",
		leftOut: map[string]string{
			"next":     "In the order of the next slot: jobs that are paused or have none are left out.",
			"last":     "In the order of the last run: jobs that have not run are left out.",
			"failures": "By how many of the latest 1,000 failures of 7 days are theirs: jobs without one are left out.",
		},
	}
	KindDAG = &Kind{
		Noun: "DAG", Title: "DAGs", Section: SectionDAGs, id: "dag", path: "/dags", makes: "wave",
		tabs: []tabLink{
			{TabNow, "Overview", ""}, {TabGrid, "Grid", "/grid"}, {TabSlots, "Slots", "/slots"}, {TabDefinition, "Definition", "/definition"}, {TabBackfill, "Backfill", "/backfill"},
		},
		run:           "Starts all roots at once, whatever their schedules. If a wave is running, this one waits for it to finish.",
		payload:       "JSON, for every task that has no payload of its own. If empty, the definition's payload is used.",
		variables:     "Arguments",
		variablesHint: "One NAME=value per line, for this wave only: conditions read them as args, programs in their environment.",
		pause:         "No slot opens a wave until the DAG is resumed; the catch-up policy then decides about the slots in between. A running wave continues.",
		delete:        "Its schedules end and its definition is deleted with all generations. A running wave is cancelled; past waves and runs stay in the history.",
		deleteMany:    "Their schedules end and their definitions are deleted with all generations. Running waves are cancelled; past waves and runs stay in the history.",
		backfill:      "Run past slots",
		backfillHint:  "Makes waves of the slots of a range that had none, one after another, the oldest first. The first step only lists them.",
		backfilled:    "Every slot of this range has had its wave",
		day:           "Choose a day to see what became of each slot of this root, and why a slot did not fire.",
		drop:          "where you choose a task's",
		heading:       "DAG", scheduleHeading: "Tasks and rhythm", notYet: "no wave yet",
		first:  "A DAG says which tasks come after which; each pass through it is a wave. Draw one here, or keep it in a file and apply that:",
		noRuns: "No waves yet: this chart shows how long waves take.",
	}
)

// Address is that of the list of the kind, or of a page beside it; rest is "" or begins with "/".
func (k *Kind) Address(rest string) string { return k.path + rest }

// plural is its noun for many, amid a sentence.
func (k *Kind) plural() string { return k.Noun + "s" }

// Head stands above every page of a definition.
type Head struct {
	Kind         *Kind
	Name         string
	Description  string
	Rhythm       string // when it runs, as a sentence
	Paused       bool
	PausedAt     time.Time
	PausedBy     string
	PausedReason string
	Starred      bool // by the reader
	Tab          Tab
	RunKey       string // makes pressing the button twice one run, or one wave
	Payload      string // of the definition, as JSON
	Args         string // of a DAG's definition, NAME=value, one a line
}

// ID is how addresses and records call the kind: "job" or "dag".
func (k *Kind) ID() string { return k.id }

// Path is the address of a page of the definition; rest is "" or begins with "/".
func (v Head) Path(rest string) string { return v.Kind.path + "/" + v.Name + rest }

// pausedBy says who has paused it, and why, as the end of a sentence.
func (v Head) pausedBy() string {
	words := ""
	if v.PausedBy != "" {
		words = " by " + v.PausedBy
	}
	if v.PausedReason != "" {
		words += ": " + strings.TrimSuffix(v.PausedReason, ".") + "."
	}
	return words
}

// Shown is what the pages of one job and of one DAG show alike.
type Shown struct {
	Page       Page
	Head       Head
	Hindrances []Hindrance
	Facts      []Fact
	Labels     []string // "key=value"
	Created    time.Time
	CreatedBy  string
	Updated    time.Time
	UpdatedBy  string
	Generation int64
	Strip      []Mark
	Rate       string // of what has ended; "" before anything has
	RateOf     int
	Duration   Chart
	Alerts     ShownAlerts
	Triggers   []ShownTrigger
	Live       string
}

// ShownAlerts says which events of a definition notify which targets.
type ShownAlerts struct {
	Words     string // "" for nothing
	FromRules bool   // the rules of the namespace say some of it
	Silences  []SilenceRow
}

// Hindrance is why a definition does not run.
type Hindrance struct {
	Words string
	Stops bool
	Since time.Time
	At    time.Time
	Href  string // to the cure; "" for none
	Cure  string // what that is called
}

// Fact is a name and what it is.
type Fact struct{ Name, Value string }

// Slot is a slot to come.
type Slot struct {
	At    time.Time
	Local string // on the clock of the schedule's zone; "" if that is UTC
	Note  string // what is unusual about it
}

// ScheduleSlots is what comes next of a schedule.
type ScheduleSlots struct {
	Root     string // of the DAG; "" for a job
	Schedule string // in words
	Zone     string // of the schedule; "" if it is UTC
	Next     []Slot
}

// elsewhere reports whether the schedule has another zone than the page.
func (v ScheduleSlots) elsewhere(ctx context.Context) bool {
	return v.Zone != "" && v.Zone != zone(ctx).Name()
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

// Act is a page, or a dialog, that asks before something is done to a definition.
type Act struct {
	Page    Page
	Head    Head
	Act     string // "run", "pause", "delete"
	Problem string
	// What was typed, to be shown again.
	Payload, Variables, Reason, Confirm string
	// From is the run that the form was filled in after, Hidden are variables of it that were not; "" for none.
	From   string
	Hidden []string
}

// DefinitionText is the page of a definition and of the forms it has had.
type DefinitionText struct {
	Page        Page
	Head        Head
	Definition  string // YAML
	Generations Generations
}

// Backfill is the page that makes runs, or waves, of past slots.
type Backfill struct {
	Page     Page
	Head     Head
	From, To string // in the zone of the page
	Zone     string // of the schedule; "" if it is that of the page
	Problem  string
	Notes    []string // how times that were typed are meant
	Planned  bool     // the slots below are a plan
	New      int
	Slots    []BackfillSlot
	More     int // slots beyond those that are listed
}

// BackfillSlot is a slot of the range, or the first one of a wave.
type BackfillSlot struct {
	At     time.Time
	Local  string
	Roots  string // whose slots a wave has, in words
	Href   string // of its run or wave; "" if it is to be made
	Status string // of that; "" where it is not known
}

// waves reports whether the slots become waves, each with slots of several roots.
func (v Backfill) waves() bool { return v.Head.Kind == KindDAG }

// made is what the plan lists.
func (v Backfill) made() string {
	if v.waves() {
		return "waves"
	}
	return "slots"
}

// count is how many of them are new.
func (v Backfill) count() string {
	if v.waves() {
		return Plural(int64(v.New), "wave", "waves")
	}
	return Plural(int64(v.New), "slot", "slots")
}

// heading says what the plan comes to.
func (v Backfill) heading() string {
	switch {
	case len(v.Slots) == 0:
		return "No slots in this range"
	case v.New == 0:
		return v.Head.Kind.backfilled
	case v.waves():
		return Plural(int64(v.New), "new wave", "new waves")
	}
	return Plural(int64(v.New), "new run", "new runs") + " for " + Plural(int64(len(v.Slots)+v.More), "slot", "slots")
}
