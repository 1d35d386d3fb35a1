package wire

import (
	"encoding/json"
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// DAG is a definition of tasks that need each other, and what Tidewheel knows about it.
type DAG struct {
	UID        string    `json:"uid" doc:"Made at creation: a name deleted and made again is another DAG" example:"h5zq3x7rk2mnp4ab"`
	Namespace  string    `json:"namespace" example:"default"`
	Name       string    `json:"name" example:"etl"`
	Generation int64     `json:"generation" doc:"1 at creation, one more with each edit of the definition"`
	Revision   int64     `json:"revision" doc:"One more with each change; the ETag"`
	Paused     bool      `json:"paused"`
	PausedAt   time.Time `json:"paused_at,omitzero"`
	PausedBy   string    `json:"paused_by,omitempty"`
	Pending    bool      `json:"pending" doc:"The engine has yet to act on the last change: a matter of milliseconds"`
	Schedule   string    `json:"schedule" doc:"How large it is and when its roots start, in words" example:"2 tasks; fetch: at 03:00, every day, UTC"`
	NextSlot   time.Time `json:"next_slot,omitzero" doc:"The next slot of any root; absent while it is paused, and where nothing is planned"`
	CreatedAt  time.Time `json:"created_at"`
	CreatedBy  string    `json:"created_by,omitempty"`
	UpdatedAt  time.Time `json:"updated_at" doc:"Of the last edit of the definition"`
	UpdatedBy  string    `json:"updated_by,omitempty"`
	Message    string    `json:"message,omitempty" doc:"Why it was edited, as the editor said"`
	Spec       spec.DAG  `json:"spec" doc:"The definition; what tasks leave out is in its defaults, and then as for jobs"`
	Source     string    `json:"source,omitempty" doc:"The YAML as the user wrote it; absent in lists, where it came as JSON, and where it is longer than 256 KiB"`
}

// DAGGeneration is one earlier or present form of a DAG's definition.
type DAGGeneration struct {
	Generation int64     `json:"generation"`
	At         time.Time `json:"at"`
	By         string    `json:"by,omitempty"`
	Message    string    `json:"message,omitempty"`
	Spec       spec.DAG  `json:"spec"`
}

// DAGGraph is what a picture of a DAG is made from.
type DAGGraph struct {
	Tasks []DAGNode `json:"tasks" doc:"In the order of the definition"`
	Edges []DAGEdge `json:"edges" doc:"What each task needs"`
}

// DAGNode is a task in the picture.
type DAGNode struct {
	Name    string `json:"name"`
	Level   int    `json:"level" doc:"0 for a root, else one more than the highest of what it needs"`
	Binary  string `json:"binary"`
	Trigger string `json:"trigger,omitempty" doc:"Its rule; absent for a root"`
	Mapped  bool   `json:"mapped,omitempty" doc:"It runs once for each item of a list"`
}

// DAGEdge leads from a task to one that needs it.
type DAGEdge struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Implied edges can be left out of a picture.
	Implied bool `json:"implied,omitempty" doc:"Another need of to comes after from, so that this one adds nothing"`
}

// DAGPreview is the next slots of a DAG's roots.
type DAGPreview struct {
	Items []DAGSlot         `json:"items" doc:"Of all roots together, the earliest first"`
	Roots []DAGRootSchedule `json:"roots"`
}

// DAGSlot is one planned instant of a root.
type DAGSlot struct {
	Root string `json:"root"`
	Slot
}

// DAGRootSchedule is the schedule of a root in words.
type DAGRootSchedule struct {
	Root        string `json:"root"`
	Description string `json:"description" example:"at 03:00, every day, Europe/Berlin"`
}

// WaveRequest asks for a wave by hand.
type WaveRequest struct {
	Payload json.RawMessage   `json:"payload,omitempty" doc:"Any JSON value, for the tasks that have none of their own"`
	Args    map[string]string `json:"args,omitempty" doc:"Added to the programs' environment, and what conditions see as args"`
}

// DAGBackfill is what a backfill of a DAG does, wave by wave.
type DAGBackfill struct {
	Items  []BackfillWave `json:"items"`
	New    int            `json:"new" doc:"How many waves it makes"`
	DryRun bool           `json:"dry_run"`
}

// BackfillWave is one wave of the range.
type BackfillWave struct {
	Slot   time.Time            `json:"slot" doc:"The first of its slots"`
	Slots  map[string]time.Time `json:"slots" doc:"The slot of each root"`
	Wave   string               `json:"wave,omitempty" doc:"The wave that has had one of the slots already: none is made"`
	Status string               `json:"status,omitempty" doc:"Of that wave"`
}
