package engine

import "time"

// Expiry defines which documents of history retention takes: those that ended before an instant, of the namespaces to which this
// age applies, except those of jobs and DAGs that ask for longer.
type Expiry struct {
	Before time.Time
	// From is where an earlier deletion has come to: what ended before it was looked at then, and is not looked at again. It is
	// zero where nothing was.
	From time.Time
	// Namespaces are those whose documents go, all of them if it is empty. Those of Except never go.
	Namespaces, Except []string
	// Longer are the uids of jobs and DAGs whose documents stay.
	Longer []string
}

// All reports whether e takes whatever ended before its instant.
func (e *Expiry) All() bool {
	return e.From.IsZero() && len(e.Namespaces) == 0 && len(e.Except) == 0 && len(e.Longer) == 0
}

// OwnExpiry defines which of the runs of a job, or of the waves of a DAG, its own retention takes.
type OwnExpiry struct {
	Before time.Time // those that ended before go; zero: none goes by its age
	// Newest is how many of those that have ended stay, 0 for all. Of the others those go that ended before Settled.
	Newest  int
	Settled time.Time
}

// ExpiredWaves is what a store has deleted of old waves at one time: the waves, and the runs of them.
type ExpiredWaves struct {
	Count int
	Runs  ExpiredRuns
}
