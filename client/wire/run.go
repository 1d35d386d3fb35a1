package wire

import (
	"encoding/json"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Run is one execution of a job, for one slot or triggered manually, or of a task in a wave.
type Run struct {
	ID         string         `json:"id" example:"h5zq3x7rk2mnp4ab-s1767229200000"`
	Namespace  string         `json:"namespace" example:"default"`
	TraceID    string         `json:"trace_id" example:"4bf92f3577b34da6a3ce929d0e0e4736" doc:"The W3C trace of the run"`
	Job        string         `json:"job" example:"nightly-report" doc:"Empty for the run of a task"`
	JobUID     string         `json:"job_uid" example:"h5zq3x7rk2mnp4ab" doc:"Of the run of a task: the DAG's"`
	DAG        string         `json:"dag,omitempty" example:"etl" doc:"Of the run of a task in a wave"`
	Wave       string         `json:"wave,omitempty" example:"h5zq3x7rk2mnp4ab-w7"`
	Epoch      int64          `json:"epoch,omitempty" doc:"The number of the wave"`
	Task       string         `json:"task,omitempty"`
	Item       *int           `json:"item,omitempty" doc:"Of a task that runs over a list: which item, from 0"`
	Generation int64          `json:"generation,omitempty" doc:"The form of the definition that it runs; absent before that is settled"`
	Revision   int64          `json:"revision" doc:"One more with each change"`
	Trigger    engine.Trigger `json:"trigger" doc:"What triggered it"`
	By         string         `json:"by,omitempty" doc:"The user, if it was triggered manually"`
	Slot       time.Time      `json:"slot,omitzero" doc:"The planned instant"`
	Status     engine.Status  `json:"status"`
	Reason     string         `json:"reason,omitempty" doc:"Why it stands there, in words"`
	Waiting    bool           `json:"waiting,omitempty" doc:"Its time has come, and an earlier run of its job is in the way"`
	Tier       spec.Tier      `json:"tier"`
	Class      spec.Class     `json:"class"`
	// RunsOn are labels.
	RunsOn   map[string]string `json:"runs_on,omitempty" doc:"The labels that its executor must have"`
	Unserved string            `json:"unserved,omitempty" doc:"Why no executor takes it now, of a queued run that is asked for by itself" example:"no executor has gpu=true"`

	Binary  string `json:"binary" doc:"As the definition names it" example:"report@stable"`
	Version int    `json:"version,omitempty" doc:"What that meant when the run was made"`
	Digest  string `json:"digest,omitempty" doc:"sha256 of the program, hex"`
	Kind    string `json:"kind,omitempty" doc:"elf, script, jar, …"`
	Size    int64  `json:"size,omitempty" doc:"Of the program, in bytes"`

	Payload json.RawMessage   `json:"payload,omitempty" doc:"Of a manual run; otherwise the definition's"`
	Args    map[string]string `json:"args,omitempty"`

	CreatedAt  time.Time `json:"created_at"`
	NotBefore  time.Time `json:"not_before,omitzero" doc:"The time that a manual run was planned for"`
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

	Outputs   json.RawMessage `json:"outputs,omitempty" doc:"What its program wrote to $TIDEWHEEL_OUTPUT, as an object; not in lists"`
	Artifacts []Artifact      `json:"artifacts,omitempty" doc:"The files that its program left in $TIDEWHEEL_ARTIFACTS; not in lists"`
}

// Artifact is a file that a run has left.
type Artifact struct {
	Name   string `json:"name" example:"totals/monday.csv" doc:"Its path, with slashes"`
	Size   int64  `json:"size" doc:"In bytes"`
	SHA256 string `json:"sha256" doc:"Of its bytes, hex"`
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

// Output is how much an attempt printed; GET …/logs returns it all.
type Output struct {
	Size      int64  `json:"size" doc:"Bytes that are kept"`
	Lines     int64  `json:"lines"`
	Truncated int64  `json:"truncated,omitempty" doc:"Bytes beyond limits.output that were not kept"`
	Lost      int64  `json:"lost,omitempty" doc:"Bytes that could not be stored, because S3 did not take them in time"`
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
	Job       string    `json:"job" doc:"Or dag/task"`
	JobUID    string    `json:"job_uid"`
	Error     string    `json:"error" doc:"Of the last attempt"`
	Attempts  int       `json:"attempts"`
	At        time.Time `json:"at"`
}

// DeadLetterSelection defines which dead letters are replayed or purged together: those that all of it fits.
type DeadLetterSelection struct {
	Job    string    `json:"job,omitempty" example:"nightly-report" doc:"Only those of this job; of a DAG for all its tasks; or dag/task. Absent: all"`
	Until  time.Time `json:"until,omitzero" doc:"Only those that died until then; so what is acted on is what was looked at"`
	Cursor string    `json:"cursor,omitempty" doc:"The next of the answer before, where there were too many for one request"`
}

// DeadLettersHandled reports what happened to them.
type DeadLettersHandled struct {
	Items   []string            `json:"items" doc:"The ids of the runs that are tried again, or whose letters are purged; items and refused together are at most 1000"`
	Refused []DeadLetterRefused `json:"refused" doc:"Those that stay, each with the reason"`
	Next    string              `json:"next,omitempty" doc:"There are more: ask again with this as cursor"`
}

// DeadLetterRefused is a dead letter that could not be replayed.
type DeadLetterRefused struct {
	ID     string `json:"id" doc:"The run's"`
	Job    string `json:"job" doc:"Or dag/task"`
	Code   string `json:"code" example:"job_deleted"`
	Detail string `json:"detail" doc:"Why, in words"`
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

// LogMatches is one page of what a search of an output has found.
type LogMatches struct {
	Items    []LogMatch `json:"items"`
	Next     string     `json:"next,omitempty" doc:"Give it as from to search on; absent at the present end of the output"`
	Searched int64      `json:"searched" doc:"Bytes of the output that have been looked through, from its beginning"`
	Size     int64      `json:"size" doc:"Bytes of the output"`
	Attempt  int        `json:"attempt"`
}

// LogMatch is a line of an output in which something was found.
type LogMatch struct {
	Line   int64  `json:"line" doc:"From 1"`
	Offset int64  `json:"offset" doc:"Of what was found, in bytes"`
	Text   string `json:"text" doc:"The line, or what is around the place in a long one; bytes that are no UTF-8 are replaced"`
}

// RunMatches is a part of what a search of the outputs of many runs has found.
type RunMatches struct {
	Items   []OutputMatches `json:"items" doc:"The newest run first"`
	Next    string          `json:"next,omitempty" doc:"Give it as cursor to search on; absent when all runs have been searched"`
	Stopped string          `json:"stopped,omitempty" doc:"Why the search stopped before its end, in words"`
	Runs    int             `json:"runs" doc:"How many runs this answer has looked through"`
	Bytes   int64           `json:"bytes" doc:"How many bytes of output this answer has looked through"`
	Reached *time.Time      `json:"reached,omitempty" doc:"When the last run was made that was looked at"`
}

// OutputMatches are the first lines of one output in which something was found.
type OutputMatches struct {
	Run     string     `json:"run"`
	Job     string     `json:"job,omitempty"`
	DAG     string     `json:"dag,omitempty"`
	Task    string     `json:"task,omitempty"`
	Status  string     `json:"status"`
	Created time.Time  `json:"created"`
	Attempt int        `json:"attempt"`
	Lines   []LogMatch `json:"lines" doc:"At most 5"`
	More    bool       `json:"more,omitempty" doc:"There may be more in this output: search it by itself"`
}

// RunDiff is the difference of two runs.
type RunDiff struct {
	A      string      `json:"a" doc:"The id of the run compared with"`
	B      string      `json:"b" doc:"The id of the run in question"`
	Fields []FieldDiff `json:"fields" doc:"What differs but for the output"`
	Output LineDiff    `json:"output"`
}

// FieldDiff is one thing that differs, in words.
type FieldDiff struct {
	Field string `json:"field" example:"env LEVEL"`
	A     string `json:"a"`
	B     string `json:"b"`
}

// LineDiff is the difference of two outputs, or of two versions of a script, line by line.
type LineDiff struct {
	Rows     []DiffRow `json:"rows"`
	Removed  int       `json:"removed" doc:"Lines that are in a alone"`
	Added    int       `json:"added" doc:"Lines that are in b alone"`
	SkippedA int64     `json:"skipped_a,omitempty" doc:"Lines of a that were not compared: of an output those before the last 2,000, of a script those after the first 5,000"`
	SkippedB int64     `json:"skipped_b,omitempty"`
	Missing  string    `json:"missing,omitempty" doc:"Why, in words, no lines are compared"`
}

// DiffRow is a line of each side.
type DiffRow struct {
	Kind  string `json:"kind" enum:"same,changed,removed,added,gap"`
	LineA int64  `json:"line_a,omitempty" doc:"From 1"`
	LineB int64  `json:"line_b,omitempty"`
	A     string `json:"text_a,omitempty"`
	B     string `json:"text_b,omitempty"`
	Gap   int    `json:"gap,omitempty" doc:"So many lines that are alike are left out"`
}
