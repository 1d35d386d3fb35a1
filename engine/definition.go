package engine

import (
	"context"
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// Spec is what a user writes: a job or a DAG.
type Spec interface{ spec.Job | spec.DAG }

// Definition is what a user wrote, as it is kept, and what Tidewheel knows about it.
type Definition[S Spec] struct {
	UID       string `json:"uid"` // made at creation; a name deleted and made again is another definition
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Shard     int    `json:"shard"` // of all tasks of a DAG, too

	Spec S `json:"spec"`
	// Source is the YAML that Spec was read from, byte by byte as the user wrote it, at most spec.MaxSource bytes; "" where
	// it came as JSON, and in whatever a store gives for a list, by uid or to the engine: only Definitions.Get reads
	// it. A write keeps what it is given, so write only what that gave. An edit of Source alone leaves Generation as it is.
	Source     string `json:"source,omitempty"`
	Generation int64  `json:"generation"` // 1 at creation, +1 with each edit of Spec
	Revision   int64  `json:"revision"`   // 1 at creation, +1 with each write of the record; the ETag

	Paused   bool      `json:"paused,omitempty"`
	PausedAt time.Time `json:"paused_at,omitzero"` // of the last pause or resume
	PausedBy string    `json:"paused_by,omitempty"`
	// PausedReason is why, as the user who paused it said.
	PausedReason string `json:"paused_reason,omitempty"`

	// OneOff marks a job that the one-call form has made: it goes some time after its only slot, unless it was edited.
	OneOff bool `json:"one_off,omitempty"`
	// Deleted marks a tombstone: the name is free again, and the engine has yet to clear what the definition left behind.
	Deleted bool `json:"deleted,omitempty"`
	// Pending means that the engine has not acted on this revision yet. Every write by a user sets it; the engine
	// clears it under the condition that Revision is still the one it acted on.
	Pending bool `json:"pending,omitempty"`

	CreatedAt time.Time `json:"created_at"`
	CreatedBy string    `json:"created_by,omitempty"`
	UpdatedAt time.Time `json:"updated_at"` // of the last edit of Spec: the new schedule counts from here
	UpdatedBy string    `json:"updated_by,omitempty"`
	Message   string    `json:"message,omitempty"` // why it was edited, as the editor said
}

// Job is a job as it is kept.
type Job = Definition[spec.Job]

// DAG is a DAG as it is kept.
type DAG = Definition[spec.DAG]

// Key is the definition's stable name across shards and for schedules with H: "namespace/name".
func (d *Definition[S]) Key() string { return d.Namespace + "/" + d.Name }

// Present is the generation that the definition is in.
func (d *Definition[S]) Present() GenerationOf[S] {
	return GenerationOf[S]{
		UID: d.UID, Generation: d.Generation, Spec: d.Spec, Source: d.Source, By: d.UpdatedBy, At: d.UpdatedAt, Message: d.Message,
	}
}

// Clone returns a copy that shares nothing with d.
func (d *Definition[S]) Clone() Definition[S] {
	c := *d
	switch s := any(&c.Spec).(type) {
	case *spec.Job:
		*s = *s.Clone()
	case *spec.DAG:
		*s = *s.Clone()
	}
	return c
}

// GenerationOf is one earlier or current version of a definition.
type GenerationOf[S Spec] struct {
	UID        string    `json:"uid"`
	Generation int64     `json:"generation"`
	Spec       S         `json:"spec"`
	Source     string    `json:"source,omitempty"` // as in Definition, the latest that this generation had; "" in lists
	By         string    `json:"by,omitempty"`
	At         time.Time `json:"at"`
	Message    string    `json:"message,omitempty"`
}

// Generation is one version of a job.
type Generation = GenerationOf[spec.Job]

// DAGGeneration is one version of a DAG.
type DAGGeneration = GenerationOf[spec.DAG]

// DefinitionFilter selects jobs or DAGs for a list, in the order of their names.
type DefinitionFilter struct {
	Namespace string
	Text      string // in the name, case is ignored
	Retaining bool   // only those with a retention of their own: few
	Cursor    string
	Limit     int
}

// Definitions is where a store keeps the definitions of one kind for their users.
type Definitions[S Spec] interface {
	// Create inserts a definition of revision 1 with its first generation; ErrExists if a living one has the name, or any
	// the uid. A tombstone of the name stays until it is handled.
	Create(ctx context.Context, definition Definition[S]) error
	// Replace writes a definition on condition that the stored one has its UID and the revision before, and keeps its
	// generation if that is new; ErrConflict, or ErrNotFound.
	Replace(ctx context.Context, definition Definition[S]) error
	// Get returns a living definition by name, with its Source; ErrNotFound.
	Get(ctx context.Context, namespace, name string) (Definition[S], error)
	// List lists living definitions by namespace and name, with the cursor of the next page.
	List(ctx context.Context, filter DefinitionFilter) (definitions []Definition[S], next string, err error)
	// Count returns how many living definitions a namespace has.
	Count(ctx context.Context, namespace string) (int64, error)
	// Generation returns one version of a definition, with its Source; ErrNotFound if it is not kept.
	Generation(ctx context.Context, uid string, generation int64) (GenerationOf[S], error)
	// Generations lists the kept versions of a definition below a generation (0: all of them), newest first.
	Generations(ctx context.Context, uid string, before int64, limit int) ([]GenerationOf[S], error)
	// DropGenerations deletes the versions below a generation, which is at most the current one, and counts them.
	DropGenerations(ctx context.Context, uid string, below int64) (int, error)
}

// Retention is how long the definition asks to keep its history; zero where it does not say.
func (d *Definition[S]) Retention() spec.Retention {
	switch definition := any(&d.Spec).(type) {
	case *spec.Job:
		return definition.Retention
	case *spec.DAG:
		return definition.Retention
	}
	return spec.Retention{}
}

// isDAG reports whether the definitions of a spec are DAGs.
func isDAG[S Spec]() bool {
	_, is := any(new(S)).(*spec.DAG)
	return is
}
