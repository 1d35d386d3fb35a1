package wire

import (
	"encoding/json"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Run is one execution of a job, for one slot or by hand.
type Run struct {
	ID         string         `json:"id" example:"h5zq3x7rk2mnp4ab-s1767229200000"`
	Namespace  string         `json:"namespace" example:"default"`
	Job        string         `json:"job" example:"nightly-report"`
	JobUID     string         `json:"job_uid" example:"h5zq3x7rk2mnp4ab"`
	Generation int64          `json:"generation,omitempty" doc:"The form of the definition that it runs; absent before that is settled"`
	Revision   int64          `json:"revision" doc:"One more with each change"`
	Trigger    engine.Trigger `json:"trigger" doc:"What asked for it"`
	By         string         `json:"by,omitempty" doc:"Who, where it was asked for by hand"`
	Slot       time.Time      `json:"slot,omitzero" doc:"The planned instant"`
	Status     engine.Status  `json:"status"`
	Reason     string         `json:"reason,omitempty" doc:"Why it stands there, in words"`
	Waiting    bool           `json:"waiting,omitempty" doc:"Its time has come, and an earlier run of its job is in the way"`
	Tier       spec.Tier      `json:"tier"`
	Class      spec.Class     `json:"class"`

	Binary  string `json:"binary" doc:"As the definition names it" example:"report@stable"`
	Version int    `json:"version,omitempty" doc:"What that meant when the run was made"`
	Digest  string `json:"digest,omitempty" doc:"sha256 of the program, hex"`
	Kind    string `json:"kind,omitempty" doc:"elf, script, jar, …"`
	Size    int64  `json:"size,omitempty" doc:"Of the program, in bytes"`

	Payload json.RawMessage   `json:"payload,omitempty" doc:"Of a run by hand; the definition's otherwise"`
	Args    map[string]string `json:"args,omitempty"`

	CreatedAt  time.Time `json:"created_at"`
	NotBefore  time.Time `json:"not_before,omitzero" doc:"Of a run by hand that was asked for a later time"`
	QueuedAt   time.Time `json:"queued_at,omitzero" doc:"Of the current attempt"`
	StartedAt  time.Time `json:"started_at,omitzero" doc:"When the first attempt's process began"`
	FinishedAt time.Time `json:"finished_at,omitzero" doc:"When the last attempt ended"`
	RetryAt    time.Time `json:"retry_at,omitzero" doc:"When the next attempt is queued"`

	Attempt  int       `json:"attempt" doc:"The current one, from 1; 0 before the first is queued"`
	Failures int       `json:"failures,omitempty"`
	Losses   int       `json:"losses,omitempty"`
	ExitCode *int      `json:"exit_code,omitempty" doc:"Of the current attempt, once it has ended by itself"`
	Error    string    `json:"error,omitempty" doc:"Of the current attempt, where it is not the program's own exit"`
	Attempts []Attempt `json:"attempts,omitempty"`
	Progress *Progress `json:"progress,omitempty"`
	CancelBy string    `json:"cancel_by,omitempty" doc:"Who cancelled it; set once that is under way"`
}

// Attempt is one try of a run.
type Attempt struct {
	N          int           `json:"n" doc:"From 1"`
	Status     engine.Status `json:"status"`
	Executor   string        `json:"executor,omitempty"`
	Token      uint64        `json:"token,omitempty" doc:"The fencing token: it grows with every lock of the job"`
	QueuedAt   time.Time     `json:"queued_at,omitzero"`
	ClaimedAt  time.Time     `json:"claimed_at,omitzero"`
	FetchedAt  time.Time     `json:"fetched_at,omitzero" doc:"When the program was at hand and verified"`
	StartedAt  time.Time     `json:"started_at,omitzero" doc:"When the process existed"`
	FinishedAt time.Time     `json:"finished_at,omitzero"`
	ExitCode   *int          `json:"exit_code,omitempty"`
	Signal     string        `json:"signal,omitempty"`
	Error      string        `json:"error,omitempty" doc:"Why, in words, where it is not the program's own exit"`
	Usage      *Usage        `json:"usage,omitempty"`
	Output     *Output       `json:"output,omitempty"`
}

// Usage is what an attempt used.
type Usage struct {
	CPU    spec.Duration `json:"cpu" doc:"User and system time" example:"1.25s"`
	MaxRSS int64         `json:"max_rss" doc:"Bytes"`
}

// Output is how much an attempt printed; GET …/logs gives it all.
type Output struct {
	Size      int64  `json:"size" doc:"Bytes that are kept"`
	Lines     int64  `json:"lines"`
	Truncated int64  `json:"truncated,omitempty" doc:"Bytes beyond limits.output that were not kept"`
	Tail      string `json:"tail,omitempty" doc:"Its last lines, at most 4 KiB, where a single run is asked for; bytes that are no UTF-8 are replaced"`
}

// Progress is what the program last said of its progress.
type Progress struct {
	Fraction float64   `json:"fraction" minimum:"0" maximum:"1"`
	Message  string    `json:"message,omitempty"`
	At       time.Time `json:"at"`
}

// DeadLetter is a run that used up its retries.
type DeadLetter struct {
	ID        string    `json:"id" doc:"The run's"`
	Namespace string    `json:"namespace"`
	Job       string    `json:"job"`
	JobUID    string    `json:"job_uid"`
	Error     string    `json:"error" doc:"Of the last attempt"`
	Attempts  int       `json:"attempts"`
	At        time.Time `json:"at"`
}

// LogPiece is one event of a followed log in the form of server-sent events.
type LogPiece struct {
	Offset int64  `json:"offset" doc:"Of the first byte in the whole output"`
	Text   string `json:"text" doc:"Bytes that are no UTF-8 are replaced"`
}

// LogEnd is its last event.
type LogEnd struct {
	Status engine.Status `json:"status" doc:"Of the attempt"`
	Size   int64         `json:"size" doc:"Of the whole output, in bytes"`
}
