package engine

import (
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// DAG is a definition of tasks as it is kept: what the user wrote and what Tidewheel knows about it. Its fields mean
// what those of a Job mean.
type DAG struct {
	UID       string `json:"uid"` // made at creation; a name deleted and made again is another DAG
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Shard     int    `json:"shard"` // of all its tasks, too

	Spec       spec.DAG `json:"spec"`
	Source     string   `json:"source,omitempty"` // as in Job
	Generation int64    `json:"generation"`       // 1 at creation, +1 with each edit of Spec
	Revision   int64    `json:"revision"`         // 1 at creation, +1 with each write of the record; the ETag

	Paused   bool      `json:"paused,omitempty"`
	PausedAt time.Time `json:"paused_at,omitzero"`
	PausedBy string    `json:"paused_by,omitempty"`

	// Deleted marks a tombstone, Pending a revision that the engine has not acted on yet: as in Job.
	Deleted bool `json:"deleted,omitempty"`
	Pending bool `json:"pending,omitempty"`

	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by,omitempty"`
	UpdatedAt time.Time `json:"updated_at"` // of the last edit of Spec
	UpdatedBy string    `json:"updated_by,omitempty"`
	Message   string    `json:"message,omitempty"`
}

// Key is the DAG's stable name across shards and for schedules with H: "namespace/name".
func (d *DAG) Key() string { return d.Namespace + "/" + d.Name }

// DAGGeneration is one earlier or present form of a DAG's definition.
type DAGGeneration struct {
	UID        string    `json:"uid"`
	Generation int64     `json:"generation"`
	Spec       spec.DAG  `json:"spec"`
	Source     string    `json:"source,omitempty"` // as in Generation
	By         string    `json:"by,omitempty"`
	At         time.Time `json:"at"`
	Message    string    `json:"message,omitempty"`
}

// DAGFilter selects DAGs for a list, in the order of their names.
type DAGFilter struct {
	Namespace string
	Text      string // in the name, case is ignored
	Cursor    string
	Limit     int
}
