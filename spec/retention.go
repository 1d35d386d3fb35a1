package spec

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Bounds of retention.
const (
	// MaxKeptRuns is the largest number of runs or waves that retention.runs may name.
	MaxKeptRuns = 100_000
	// MinRetention is the shortest age: what happened within it is kept whatever a definition says.
	MinRetention = Duration(time.Hour)
	// MaxRetention is the longest age.
	MaxRetention = maxDuration
)

// Retention defines how long what has ended is kept. A field at zero leaves it to the namespace, and that to the server.
type Retention struct {
	// Age is how long runs, of a DAG waves with their runs, are kept after their end.
	Age Duration `json:"age,omitzero"`
	// Runs is how many of those that have ended are kept, the newest; a wave counts as one.
	Runs int `json:"runs,omitempty"`
	// Output is how long what runs have in S3 is kept after their end, output and artifacts. It never outlives its run.
	Output Duration `json:"output,omitzero"`
}

// Or returns r with what it leaves out taken from other.
func (r Retention) Or(other Retention) Retention {
	if r.Age == 0 {
		r.Age = other.Age
	}
	if r.Runs == 0 {
		r.Runs = other.Runs
	}
	if r.Output == 0 {
		r.Output = other.Output
	}
	return r
}

// String returns the rule in words, as in "age 720h, runs 1000, output 168h".
func (r Retention) String() string {
	var rules []string
	if r.Age > 0 {
		rules = append(rules, "age "+r.Age.String())
	}
	if r.Runs > 0 {
		rules = append(rules, fmt.Sprint("runs ", r.Runs))
	}
	if r.Output > 0 {
		rules = append(rules, "output "+r.Output.String())
	}
	return cmp.Or(strings.Join(rules, ", "), "none")
}

// Validate returns the faults of retention under a path.
func (r Retention) Validate(path string) Problems {
	v := &validator{}
	v.retention(path, r)
	return v.problems
}

func (v *validator) retention(path string, r Retention) {
	v.duration(path+".age", r.Age, MinRetention, MaxRetention)
	if r.Runs < 0 || r.Runs > MaxKeptRuns {
		v.add(path+".runs", "must be from 1 to %d, not %d", MaxKeptRuns, r.Runs)
	}
	v.duration(path+".output", r.Output, MinRetention, MaxRetention)
	if r.Age > 0 && r.Output > r.Age {
		v.add(path+".output", "%s is longer than age, %s: output goes with its run; keep it for less, or the runs for longer", r.Output, r.Age)
	}
}
