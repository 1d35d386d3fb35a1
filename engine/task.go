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

	// RunsOn are the labels that the executor must have: the task is given to no other.
	RunsOn map[string]string `json:"runs_on,omitempty"`

	Digest      string `json:"digest"`
	Size        int64  `json:"size"`
	Kind        string `json:"kind"`
	Interpreter string `json:"interpreter,omitempty"`

	// Of a task in a wave.
	DAG       string          `json:"dag,omitempty"` // name
	Epoch     int64           `json:"epoch,omitempty"`
	Task      string          `json:"task,omitempty"`
	Item      *int            `json:"item,omitempty"`       // of a mapped task: which of its list, from 0
	ItemValue json.RawMessage `json:"item_value,omitempty"` // and what the list has there
	Inputs    []Input         `json:"inputs,omitempty"`     // of the tasks that it needs, by name and item

	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Payload json.RawMessage   `json:"payload,omitempty"`
	// Secrets are the variables that take their values from secrets, by their names.
	Secrets map[string]string `json:"secrets,omitempty"`
	Timeout time.Duration     `json:"timeout"` // nanoseconds, of the process
	Grace   time.Duration     `json:"grace"`   // SIGTERM to SIGKILL
	Limits  spec.Limits       `json:"limits,omitzero"`
	Stderr  spec.Stderr       `json:"stderr,omitempty"`

	// Once means that the program may begin once at most: the executor waits for ControlBegin before.
	Once bool `json:"once,omitempty"`

	// Again means that a copy of this attempt may have been published before, and be claimed by now. The queue marks the
	// message with it: such a copy is left to the engine if it waits for so long that its claim may be forgotten.
	Again bool `json:"-"`

	// How the program reaches the API. The core knows neither; the publisher of the task adds them.
	API    string `json:"api,omitempty"`     // its address, "" for none
	RunKey string `json:"run_key,omitempty"` // what the executor seals the attempt's run token with

	// Sealed are the values of Secrets, by variable, as executors can open them; added like API, and in no store.
	Sealed map[string][]byte `json:"sealed,omitempty"`
	// Refused is why the attempt must fail without a start, "" for nothing: a secret of it is not there. Added like API.
	Refused string `json:"refused,omitempty"`
	// ArtifactRoom is how many bytes of artifacts its namespace may still store, nil for any number. Added like API.
	ArtifactRoom *int64 `json:"artifact_room,omitempty"`
}

// MaxSecretBytes bounds the secrets of an attempt, sealed: they travel in one message.
const MaxSecretBytes = 256 << 10

// Input is what a task that came before has left.
type Input struct {
	Task      string          `json:"task"`
	Item      *int            `json:"item,omitempty"`  // of a mapped task
	Items     int             `json:"items,omitempty"` // of a mapped task: how many there are
	Run       string          `json:"run"`
	Attempt   int             `json:"attempt"`           // that succeeded: its artifacts are kept under it
	Outputs   json.RawMessage `json:"outputs,omitempty"` // a JSON object
	Artifacts []Artifact      `json:"artifacts,omitempty"`
}

// ResultKind is what a message on an attempt's own subject says.
type ResultKind string

// The kinds. The subject is where an attempt is decided: the first message is Started or Revoked, never both, and
// the last is Finished or Lost, never both; each is published under the condition of the sequence before it.
const (
	ResultStarted  ResultKind = "started"  // an executor claims the attempt
	ResultProgress ResultKind = "progress" // a `::progress` line, or what keeps the program from beginning
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

	Asks     bool      `json:"asks,omitempty"` // it is claimed, or in progress, and waits for ControlBegin
	Progress *Progress `json:"progress,omitempty"`
	Waits    string    `json:"waits,omitempty"` // why the program has not begun yet, in words; "" once it does
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
	HandedBack bool      `json:"handed_back,omitempty"` // the executor gave it up, which is not the program's fault: neither failed nor lost
	Unfetched  bool      `json:"unfetched,omitempty"`   // why it was handed back: the store did not give the program's bytes or take its artifacts, the executor had no room for it, or the engine did not say that it may begin
	FetchedAt  time.Time `json:"fetched_at,omitzero"`
	StartedAt  time.Time `json:"started_at,omitzero"`
	FinishedAt time.Time `json:"finished_at"`
	Usage      *Usage    `json:"usage,omitempty"`
	Output     *Output   `json:"output,omitempty"`

	// What a succeeded attempt left for the tasks that need it.
	Outputs   json.RawMessage `json:"outputs,omitempty"` // a JSON object of at most MaxOutputs bytes
	Artifacts []Artifact      `json:"artifacts,omitempty"`
}

// MaxOutputs bounds what a run may hand on by $TIDEWHEEL_OUTPUT, in bytes of JSON; more goes by files.
const MaxOutputs = 64 << 10

// AttemptState is what the queue knows of an attempt: the answer to the supervisor's question.
type AttemptState struct {
	Last     ResultKind // of the attempt's subject, "" if it was never claimed
	Sequence uint64     // of that message
	// LockHeld reports whether the attempt's lock exists and names this run and attempt; LockUntil is then the
	// earliest instant at which it can expire without being refreshed.
	LockHeld  bool
	LockUntil time.Time
	// Waits reports whether the attempt's task is in the queue: it is unclaimed, or claimed and not acknowledged.
	Waits bool
	// Since is when the queue was last out of reach, by the asker's clock: what executors could not report before
	// comes soon after. Zero if the asker does not know.
	Since time.Time
}
