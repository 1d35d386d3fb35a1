package dag

import "fmt"

// State is how far a task has come in a wave. The zero value is invalid.
type State uint8

// The states of a task.
const (
	// Waiting: its needs have not come far enough, or it is a root whose slot has not come.
	Waiting State = iota + 1
	// Ready: it may start, and Take has not given it out.
	Ready
	// Running: Take gave it out, and it has not ended. Retries are part of it.
	Running
	// Succeeded, Failed and Cancelled are how a run ends for good. A run that timed out, was lost or is dead has failed.
	Succeeded
	Failed
	Cancelled
	// Skipped: it was not run and nothing is wrong: its condition was false, its list empty, or its rule asks for
	// something that did not come about.
	Skipped
	// UpstreamFailed: it was not run because something it needs, directly or not, failed. Its run has the status
	// skipped, with this as the reason.
	UpstreamFailed

	stateCount
)

var stateNames = [stateCount]string{
	"invalid", "waiting", "ready", "running", "succeeded", "failed", "cancelled", "skipped", "upstream_failed",
}

// String is the state's word in the API.
func (s State) String() string {
	if s >= stateCount {
		return fmt.Sprintf("invalid(%d)", uint8(s))
	}
	return stateNames[s]
}

// Valid reports whether s is one of the states.
func (s State) Valid() bool { return s > 0 && s < stateCount }

// Ended reports whether nothing follows the state, but for Resume.
func (s State) Ended() bool { return s >= Succeeded && s < stateCount }

// Next reports whether a task may go from s to next. What Resume puts back is not a transition.
func (s State) Next(next State) bool {
	switch s {
	case Waiting:
		return next == Ready || next.Ended()
	case Ready:
		return next == Running || next.Ended()
	case Running:
		return next.Ended()
	default:
		return false
	}
}

// outcome is what a state is to the tasks that need it.
type outcome uint8

const (
	open outcome = iota
	success
	failure
	skip
)

// A cancelled task has not done its work, so to its dependants it has failed.
var outcomes = [stateCount]outcome{
	Succeeded: success, Failed: failure, Cancelled: failure, UpstreamFailed: failure, Skipped: skip,
}
