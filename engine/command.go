package engine

import (
	"encoding/json"
	"time"
)

// MaxBackfill bounds the slots of one backfill.
const MaxBackfill = 1000

// CommandKind is what a user or a client asks of the engine.
type CommandKind string

// The kinds.
const (
	CommandStart    CommandKind = "start"    // make a run
	CommandCancel   CommandKind = "cancel"   // end a run
	CommandRetry    CommandKind = "retry"    // one more attempt of a run that ended
	CommandBackfill CommandKind = "backfill" // run the slots of a range that have no run

	CommandStartWave  CommandKind = "start_wave"  // make a wave
	CommandCancelWave CommandKind = "cancel_wave" // end a wave
	CommandResumeWave CommandKind = "resume_wave" // resume a wave that ended: what succeeded stays
	CommandMarkTask   CommandKind = "mark_task"   // mark a task of a wave as Mark says, and resume the wave
	CommandClearTask  CommandKind = "clear_task"  // run a task of a wave that ended again
)

// Command is an intent that outlives a crash of either side: the web inserts it and wakes the shard, the owner acts
// and deletes it. Acting twice does no more than acting once.
type Command struct {
	ID     string      `json:"id"` // derived from what is asked, so that asking twice is asking once
	Shard  int         `json:"shard"`
	Kind   CommandKind `json:"kind"`
	JobUID string      `json:"job_uid"`          // or a DAG's
	RunID  string      `json:"run_id,omitempty"` // or a wave's
	Task   string      `json:"task,omitempty"`   // to mark or to clear
	Mark   Status      `json:"mark,omitzero"`    // succeeded, failed or skipped
	Item   *int        `json:"item,omitempty"`   // to clear: only this item of a mapped task
	Alone  bool        `json:"alone,omitempty"`  // to clear: without the tasks that come after it
	// Args and Payload are given to the run of the task that is cleared: args over those of its wave, a payload instead of its own.
	Args    map[string]string `json:"args,omitempty"`
	Payload json.RawMessage   `json:"payload,omitempty"`
	// Revision is the run's, or the wave's, when a retry was asked for: one request is one retry, however often it is read.
	Revision int64     `json:"revision,omitempty"`
	By       string    `json:"by,omitempty"`
	At       time.Time `json:"at"`
	From     time.Time `json:"from,omitzero"` // backfill: slots in [From, To)
	To       time.Time `json:"to,omitzero"`
	// Run is what CommandStart makes, and Wave what CommandStartWave makes, as they are until the engine has acted: their ids
	// are RunID.
	Run  *Run  `json:"run,omitempty"`
	Wave *Wave `json:"wave,omitempty"`
}

// StartCommand returns the id of the command that makes a run or a wave.
func StartCommand(id string) string { return id + "-start" }

// AboutWave reports whether a command of this kind is about a wave.
func (k CommandKind) AboutWave() bool {
	switch k {
	case CommandStartWave, CommandCancelWave, CommandResumeWave, CommandMarkTask, CommandClearTask:
		return true
	case CommandStart, CommandCancel, CommandRetry, CommandBackfill:
	}
	return false
}

// Wake notifies the owner of a shard of a change to read, mostly in the store.
type Wake struct {
	Shard int      `json:"shard"`
	Kind  WakeKind `json:"kind"`
	Key   string   `json:"key,omitempty"` // the uid of a job or DAG, "namespace/name" of a binary, or the id of a run
	// Attempt is that of a run.
	Attempt int `json:"attempt,omitempty"`
}

// WakeKind is what was left.
type WakeKind string

// The kinds.
const (
	WakeJob     WakeKind = "job"     // a job with Pending set
	WakeDAG     WakeKind = "dag"     // a DAG with Pending set
	WakeCommand WakeKind = "command" // a Command
	WakeTask    WakeKind = "task"    // nothing in the store: the task of an attempt is gone from the queue, and no executor is known to have claimed it
	WakeBinary  WakeKind = "binary"  // a binary's versions or aliases have changed; Shard means nothing
)
