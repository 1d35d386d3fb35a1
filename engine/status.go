package engine

import "fmt"

// Status is where a run, or one attempt of it, stands. The zero value is invalid.
type Status uint8

// The statuses of a run. A run goes Scheduled → Queued → Running → an end; Failed, TimedOut and Lost may be followed
// by Retrying → Queued, or end as Dead once the retries are used up.
const (
	StatusInvalid   Status = iota
	StatusScheduled        // the run exists; its slot has not come, or it waits for an earlier run of its job
	StatusQueued           // its task has been published and no executor has claimed it yet
	StatusRunning          // an executor has claimed the current attempt
	StatusRetrying         // the last attempt failed; the next is queued at RetryAt
	StatusSucceeded
	StatusFailed    // the program said no (an exit code), or it could not be started; it is not retried
	StatusTimedOut  // it outlived its timeout and was killed
	StatusCancelled // a user, or the replace policy, ended it
	StatusLost      // the executor vanished, and the job is delivered at most once
	StatusDead      // its retries are used up; there is a dead letter
	StatusSkipped   // a DAG task whose trigger rule is not met
)

var statusNames = [...]string{
	StatusInvalid: "", StatusScheduled: "scheduled", StatusQueued: "queued", StatusRunning: "running",
	StatusRetrying: "retrying", StatusSucceeded: "succeeded", StatusFailed: "failed", StatusTimedOut: "timed_out",
	StatusCancelled: "cancelled", StatusLost: "lost", StatusDead: "dead", StatusSkipped: "skipped",
}

// Statuses lists every valid status, in the order of a run's life.
func Statuses() []Status {
	all := make([]Status, 0, len(statusNames)-1)
	for s := StatusScheduled; int(s) < len(statusNames); s++ {
		all = append(all, s)
	}
	return all
}

// String returns the status as it is stored and shown: "timed_out".
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// ParseStatus reads what String gives.
func ParseStatus(name string) (Status, error) {
	for s := StatusScheduled; int(s) < len(statusNames); s++ {
		if statusNames[s] == name {
			return s, nil
		}
	}
	return StatusInvalid, fmt.Errorf("%q is no status: use one of %v", name, statusNames[1:])
}

// MarshalText writes the name; JSON and BSON strings come from it.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the name; the empty text is the invalid zero value.
func (s *Status) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = StatusInvalid
		return nil
	}
	parsed, err := ParseStatus(string(text))
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}

// Terminal reports whether nothing more happens to a run by itself.
func (s Status) Terminal() bool {
	switch s {
	case StatusSucceeded, StatusFailed, StatusTimedOut, StatusCancelled, StatusLost, StatusDead, StatusSkipped:
		return true
	case StatusInvalid, StatusScheduled, StatusQueued, StatusRunning, StatusRetrying:
		return false
	}
	return false
}

// CanRetry reports whether an operator may ask for another attempt of a run that ended like this. It is the only way
// out of a terminal status.
func (s Status) CanRetry() bool {
	switch s {
	case StatusFailed, StatusTimedOut, StatusCancelled, StatusLost, StatusDead:
		return true
	case StatusInvalid, StatusScheduled, StatusQueued, StatusRunning, StatusRetrying, StatusSucceeded, StatusSkipped:
		return false
	}
	return false
}
