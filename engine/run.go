package engine

import (
	"encoding/json"
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// Run is one execution of a job for one slot, or triggered manually. Its identity is derived wherever a slot exists.
// The shard's owner is the only one who changes a run; others insert manual runs and leave a Command.
type Run struct {
	ID       string `json:"id"`
	Revision int64  `json:"revision"` // 1 when inserted, +1 with each write

	Namespace  string `json:"namespace"`
	JobUID     string `json:"job_uid"`
	Job        string `json:"job"`
	Shard      int    `json:"shard"`
	Generation int64  `json:"generation"`

	// Of a task in a wave; JobUID is then the DAG's and Job is "".
	DAG   string `json:"dag,omitempty"` // name
	Wave  string `json:"wave,omitempty"`
	Epoch int64  `json:"epoch,omitempty"`
	Task  string `json:"task,omitempty"`
	Item  *int   `json:"item,omitempty"` // of a mapped task: which of its list, from 0
	// Upstream says of a skipped run that something before it failed, or was cancelled.
	Upstream bool `json:"upstream,omitempty"`

	Trigger Trigger    `json:"trigger"`
	By      string     `json:"by,omitempty"` // who, for what was triggered manually
	Slot    time.Time  `json:"slot,omitzero"`
	Status  Status     `json:"status"`
	Reason  string     `json:"reason,omitempty"`  // why the run has this status, in words for users
	Waiting bool       `json:"waiting,omitempty"` // its time has come, and an earlier run of its job is in the way
	Tier    spec.Tier  `json:"tier"`
	Class   spec.Class `json:"class"`
	// RunsOn are the labels that its executor must have. It is shared with the definition and never changed.
	RunsOn map[string]string `json:"runs_on,omitempty"`

	Binary  string `json:"binary"`            // as the definition names it: "report@stable"
	Version int    `json:"version,omitempty"` // what that meant when the run was made
	Digest  string `json:"digest,omitempty"`  // sha256, hex
	Kind    string `json:"kind,omitempty"`    // "elf", "script", "jar", …
	Size    int64  `json:"size,omitempty"`

	Payload json.RawMessage   `json:"payload,omitempty"` // of a manual run; the definition's otherwise
	Args    map[string]string `json:"args,omitempty"`    // K=V of a manual run: added to its environment

	CreatedAt  time.Time `json:"created_at"`
	NotBefore  time.Time `json:"not_before,omitzero"`  // of a manual run that was asked for a later time
	QueuedAt   time.Time `json:"queued_at,omitzero"`   // of the current attempt
	StartedAt  time.Time `json:"started_at,omitzero"`  // of the first attempt's process
	FinishedAt time.Time `json:"finished_at,omitzero"` // of the last attempt
	RetryAt    time.Time `json:"retry_at,omitzero"`

	Attempt  int       `json:"attempt"` // the current one, from 1; 0 before the first is queued
	Failures int       `json:"failures,omitempty"`
	Losses   int       `json:"losses,omitempty"`
	Attempts []Attempt `json:"attempts,omitempty"`
	Progress *Progress `json:"progress,omitempty"`

	CancelBy string `json:"cancel_by,omitempty"` // set once a cancellation is under way
	// PendingSkip is set while a prepared run is taken back that may have been published already: what becomes of its slot,
	// unless an executor was faster.
	PendingSkip SlotReason `json:"pending_skip,omitempty"`

	// Of the attempt that succeeded: what it left for the tasks that need it.
	Outputs   json.RawMessage `json:"outputs,omitempty"` // a JSON object
	Artifacts []Artifact      `json:"artifacts,omitempty"`
}

// Attempt is one try of a run.
type Attempt struct {
	N          int       `json:"n"`
	Status     Status    `json:"status"`
	Executor   string    `json:"executor,omitempty"`
	Token      uint64    `json:"token,omitempty"` // fencing token: the revision of the job's lock
	QueuedAt   time.Time `json:"queued_at,omitzero"`
	ClaimedAt  time.Time `json:"claimed_at,omitzero"`
	FetchedAt  time.Time `json:"fetched_at,omitzero"` // the binary was in the cache, verified
	StartedAt  time.Time `json:"started_at,omitzero"` // the process existed
	FinishedAt time.Time `json:"finished_at,omitzero"`
	ExitCode   *int      `json:"exit_code,omitempty"`
	Signal     string    `json:"signal,omitempty"`
	Error      string    `json:"error,omitempty"` // why, in words, where it is not the program's own exit
	Usage      *Usage    `json:"usage,omitempty"`
	Output     *Output   `json:"output,omitempty"`
}

// Artifact is a file that a run left for the tasks that need it.
type Artifact struct {
	Name   string `json:"name"` // its path below $TIDEWHEEL_ARTIFACTS, with slashes
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// Usage is what an attempt's process group used.
type Usage struct {
	CPU    time.Duration `json:"cpu"`     // user and system, nanoseconds
	MaxRSS int64         `json:"max_rss"` // bytes
}

// Output is what an attempt printed, stdout and stderr in the order in which they were written.
type Output struct {
	Size      int64  `json:"size"`               // bytes printed and kept
	Lines     int64  `json:"lines"`              // newlines in it, plus one for an unfinished last line
	Tail      []byte `json:"tail,omitempty"`     // all of it when Chunks is 0, else its last 4 KiB
	Chunks    int    `json:"chunks,omitzero"`    // objects in S3; 0 when Tail is everything
	Truncated int64  `json:"truncated,omitzero"` // bytes beyond the limit, which are not kept
	Lost      int64  `json:"lost,omitzero"`      // bytes that could not be stored, beside the tail: S3 did not take them
	Marks     []byte `json:"marks,omitempty"`    // of EncodeOutputMarks; none of what an earlier version ran
}

// Progress is the latest `::progress` line of a program.
type Progress struct {
	Fraction float64   `json:"fraction"` // 0 … 1
	Message  string    `json:"message,omitempty"`
	At       time.Time `json:"at"`
}

// Current returns the current attempt, nil before the first is queued. It points into r.
func (r *Run) Current() *Attempt {
	if n := len(r.Attempts); n > 0 {
		return &r.Attempts[n-1]
	}
	return nil
}

// Label names what the run is of, for people: a job, or "dag/task".
func (r *Run) Label() string {
	if r.DAG != "" {
		return r.DAG + "/" + r.Task
	}
	return r.Job
}

// Clone copies r so that neither shares what the other may change.
func (r *Run) Clone() Run {
	c := *r
	c.Attempts = append([]Attempt(nil), r.Attempts...)
	return c
}
