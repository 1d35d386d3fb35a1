package wire

import (
	"encoding/json"
	"time"
)

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

// WaveRequest triggers a wave.
type WaveRequest struct {
	Payload json.RawMessage   `json:"payload,omitempty" doc:"Any JSON value, for the tasks that have none of their own"`
	Args    map[string]string `json:"args,omitempty" doc:"Added to the programs' environment, and what conditions see as args"`
	At      time.Time         `json:"at,omitzero" doc:"Not before this time; absent: now"`
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
