package engine

import (
	"encoding/json"
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// Task is the message that asks an executor to run one attempt. It holds all that the executor needs but the bytes
// of the binary.
type Task struct {
	Run       string `json:"run"`
	Attempt   int    `json:"attempt"`
	Shard     int    `json:"shard"`
	JobUID    string `json:"job_uid"`
	Namespace string `json:"namespace"`
	Job       string `json:"job"`
	// Lock is what the executor must hold while it runs: the job's uid, or the run's id where runs may overlap.
	Lock string `json:"lock"`

	Slot       time.Time  `json:"slot,omitzero"`
	Tier       spec.Tier  `json:"tier"`
	Class      spec.Class `json:"class"`
	QueuedAt   time.Time  `json:"queued_at"`
	Generation int64      `json:"generation"`

	Digest      string `json:"digest"`
	Size        int64  `json:"size"`
	Kind        string `json:"kind"`
	Interpreter string `json:"interpreter,omitempty"`

	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Payload json.RawMessage   `json:"payload,omitempty"`
	Timeout time.Duration     `json:"timeout"` // nanoseconds, of the process
	Grace   time.Duration     `json:"grace"`   // SIGTERM to SIGKILL
	Limits  spec.Limits       `json:"limits,omitzero"`
}

// ResultKind is what a message on an attempt's own subject says.
type ResultKind string

// The kinds. The subject is where an attempt is decided: the first message is Started or Revoked, never both, and
// the last is Finished or Lost, never both; each is published under the condition of the sequence before it.
const (
	ResultStarted  ResultKind = "started"  // an executor claims the attempt
	ResultProgress ResultKind = "progress" // a `::progress` line
	ResultFinished ResultKind = "finished" // the executor reports the end
	ResultRevoked  ResultKind = "revoked"  // the engine took the attempt back before anybody claimed it
	ResultLost     ResultKind = "lost"     // the engine found the claim without a lock
)

// Result is such a message.
type Result struct {
	Kind     ResultKind `json:"kind"`
	Run      string     `json:"run"`
	Attempt  int        `json:"attempt"`
	Shard    int        `json:"shard"`
	Executor string     `json:"executor,omitempty"`
	Token    uint64     `json:"token,omitempty"`
	At       time.Time  `json:"at"`

	Progress *Progress `json:"progress,omitempty"`
	Finish   *Finish   `json:"finish,omitempty"`

	// Sequence is the message's place in its shard's results; set by the queue on receipt.
	Sequence uint64 `json:"-"`
}

// Finish is how an attempt ended.
type Finish struct {
	Status     Status    `json:"status"` // succeeded, failed, timed_out or cancelled
	ExitCode   *int      `json:"exit_code,omitempty"`
	Signal     string    `json:"signal,omitempty"`
	Error      string    `json:"error,omitempty"`
	NoRetry    bool      `json:"no_retry,omitempty"`    // it could not run and never will: wrong architecture, digest mismatch
	HandedBack bool      `json:"handed_back,omitempty"` // the executor drained before the process began: neither failed nor lost
	FetchedAt  time.Time `json:"fetched_at,omitzero"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	FinishedAt time.Time `json:"finished_at"`
	Usage      *Usage    `json:"usage,omitempty"`
	Output     *Output   `json:"output,omitempty"`
}

// AttemptState is what the queue knows of an attempt: the answer to the supervisor's question.
type AttemptState struct {
	Last     ResultKind // of the attempt's subject, "" if nobody ever claimed it
	Sequence uint64     // of that message
	// LockHeld tells whether the attempt's lock exists and names this run and attempt; LockUntil is then the
	// earliest instant at which it can expire without being refreshed.
	LockHeld  bool
	LockUntil time.Time
}
