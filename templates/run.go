package templates

import "time"

// Run is the page of one run.
type Run struct {
	Page    Page
	ID      string
	Job     string
	Of      WaveRun
	Status  string
	Reason  string
	Trigger string
	By      string
	// Happens says in words what comes next, before RetryAt: "exit code 75, temporary failure: it will be tried again".
	Happens  string
	TryOf    string // "attempt 2 of 3", of the try that comes next
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
	RunsOn      []string // labels that its executor must have, "key=value"
	// Unserved says why no executor takes it now, of a queued run; "" of any other.
	Unserved   string
	Binary     string
	BinaryName string
	Version    int
	Digest     string
	Payload    string
	Args       []Fact
	Definition *RunDefinition
	Trace      string // its W3C id
	TraceURL   string // where it is seen; "" for nowhere

	CanCancel, CanRetry, Cancelling bool
	// HurtsRetry asks before another try; "" does not ask.
	HurtsRetry string
	// LastGood leads to the comparison with the last run that succeeded; "" where that makes no sense.
	LastGood string
	// Before and After are the ids of the runs before and after it; "" for none.
	Before, After string
	// Compare leads to the choice of a run to compare with, SearchAll to the search of the outputs of all such runs.
	Compare, SearchAll string
	// Again leads to the form that runs the job again with what this run was given, to be changed; "" where that cannot be.
	Again string
	// LastLines are the last lines of the output of a run that failed.
	LastLines []string
	// NotRun leads to the ledger of a run that was not executed; "" of any other.
	NotRun string

	Attempts []Attempt
	// ShownAttempt is whose output the page shows, 0 before the first; Newer reports whether a later one has begun since.
	ShownAttempt int
	Newer        int
	Output       Output
	Effects      Effects
	Left         Left
	Live         string
}

func (v Run) took() time.Duration { return v.Finished.Sub(v.Started) }

// RunDefinition is the definition of a run's job as it was when the run was made.
type RunDefinition struct {
	Generation int64
	Link       string // to that generation
	Of         string // job or DAG, whose it is
	Args       []string
	Env        []EnvironmentVariable
	Facts      []Fact
	Labels     []Fact
	// Missing says in words why nothing is known of it.
	Missing string
}

// EnvironmentVariable is one of a program's own. Hidden says why its value is not shown.
type EnvironmentVariable struct{ Name, Value, Hidden string }

// Attempt is one try.
type Attempt struct {
	N        int
	Status   string
	Executor string
	Started  time.Time
	Took     string // in words; "" while it goes on
	Exit     string // "exit code 75, temporary failure", "ended by SIGKILL"; "" while it goes on
	CPU      string
	Memory   string
	Output   string // its size, in words
	Error    string
	Phases   []Phase
}

// Phase is a stretch of an attempt's time.
type Phase struct {
	Kind  string // wait, queue, fetch, start, run
	Name  string // in words: "in the queue"
	Took  string // in words; "" while it goes on
	Since time.Time
	// Where it stands in the chart, in percent of the run's whole time.
	From, Width float64
}
