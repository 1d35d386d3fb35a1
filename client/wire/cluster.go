package wire

import (
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// Executor is what an executor says of itself.
type Executor struct {
	ID       string            `json:"id"`
	Host     string            `json:"host"`
	PID      int               `json:"pid"`
	Version  string            `json:"version"`
	Tiers    []spec.Tier       `json:"tiers" doc:"Its own first"`
	Slots    int               `json:"slots" doc:"How many runs it takes at a time"`
	Running  []RunningAttempt  `json:"running"`
	Labels   map[string]string `json:"labels,omitempty"`
	Draining bool              `json:"draining" doc:"It finishes what it runs and takes nothing new"`
	Since    time.Time         `json:"since"`
	Seen     time.Time         `json:"seen" doc:"When it was last heard of"`
}

// RunningAttempt is one of the attempts that an executor runs.
type RunningAttempt struct {
	Run     string    `json:"run"`
	Attempt int       `json:"attempt"`
	Job     string    `json:"job"`
	Since   time.Time `json:"since"`
}

// Queue is what waits in one tier and class.
type Queue struct {
	Tier    spec.Tier  `json:"tier"`
	Class   spec.Class `json:"class"`
	Waiting uint64     `json:"waiting" doc:"Published, not yet delivered"`
	Claimed uint64     `json:"claimed" doc:"Delivered, not yet acknowledged"`
	Pulls   int        `json:"pulls" doc:"Requests of idle executors"`
	Oldest  time.Time  `json:"oldest,omitzero" doc:"When the longest waiting task was published"`
}

// Event is a hint that something has changed: read it again if you show it.
type Event struct {
	Kind   string `json:"kind" enum:"run,wave,runs,executors,queues" doc:"run, wave: the one of this id; runs: more runs than are named one by one"`
	ID     string `json:"id,omitempty"`
	Job    string `json:"job,omitempty"`
	DAG    string `json:"dag,omitempty" doc:"Of a wave, or of the run of a task"`
	Wave   string `json:"wave,omitempty" doc:"Of the run of a task"`
	Task   string `json:"task,omitempty"`
	Status string `json:"status,omitempty" doc:"Of the run or wave, when the hint was made"`
}

// Version says what answers.
type Version struct {
	Version string `json:"version"`
}
