package wire

import (
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// Definition is what Tidewheel knows about a job or a DAG.
type Definition struct {
	UID          string    `json:"uid" doc:"Made at creation: a name deleted and made again is another definition" example:"h5zq3x7rk2mnp4ab"`
	Namespace    string    `json:"namespace" example:"default"`
	Name         string    `json:"name" example:"nightly-report"`
	Generation   int64     `json:"generation" doc:"1 at creation, one more with each edit of the definition"`
	Revision     int64     `json:"revision" doc:"1 at creation, one more with each change of any kind; the ETag"`
	Paused       bool      `json:"paused" doc:"Its schedules stand still"`
	PausedAt     time.Time `json:"paused_at,omitzero"`
	PausedBy     string    `json:"paused_by,omitempty"`
	PausedReason string    `json:"paused_reason,omitempty" doc:"Why, in the words of the user who paused it"`
	Pending      bool      `json:"pending" doc:"The engine has yet to act on the last change: a matter of milliseconds"`
	Schedule     string    `json:"schedule" doc:"When it runs, in words; of a DAG also how large it is" example:"at 03:00, every day, Asia/Dhaka"`
	NextSlot     time.Time `json:"next_slot,omitzero" doc:"When it fires next, or the first root of a DAG; absent while it is paused, and where nothing is planned"`
	CreatedAt    time.Time `json:"created_at"`
	CreatedBy    string    `json:"created_by,omitempty"`
	UpdatedAt    time.Time `json:"updated_at" doc:"Of the last edit of the definition"`
	UpdatedBy    string    `json:"updated_by,omitempty"`
	Message      string    `json:"message,omitempty" doc:"Why it was edited, in the editor's words"`
}

// Job is a job, and what Tidewheel knows about it.
type Job struct {
	Definition
	Spec   spec.Job `json:"spec" doc:"The definition, with defaults filled in"`
	Source string   `json:"source,omitempty" doc:"The YAML as the user wrote it; absent in lists, where it came as JSON, and where it is longer than 256 KiB"`
}

// DAG is a definition of tasks that need each other, and what Tidewheel knows about it.
type DAG struct {
	Definition
	Spec   spec.DAG `json:"spec" doc:"The definition; what tasks leave out is in its defaults, and then as for jobs"`
	Source string   `json:"source,omitempty" doc:"The YAML as the user wrote it; absent in lists, where it came as JSON, and where it is longer than 256 KiB"`
}

// GenerationHead is what is known about one earlier or current version of a definition.
type GenerationHead struct {
	Generation int64     `json:"generation"`
	At         time.Time `json:"at"`
	By         string    `json:"by,omitempty"`
	Message    string    `json:"message,omitempty"`
}

// Generation is one version of a job.
type Generation struct {
	GenerationHead
	Spec spec.Job `json:"spec"`
}

// DAGGeneration is one version of a DAG.
type DAGGeneration struct {
	GenerationHead
	Spec spec.DAG `json:"spec"`
}

// Difference is how two versions of a definition differ.
type Difference struct {
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Diff string `json:"diff" doc:"A unified difference of their YAML; empty where they mean the same"`
}

// RestoreRequest asks for an earlier version of a definition.
type RestoreRequest struct {
	Generation int64  `json:"generation" minimum:"1"`
	Message    string `json:"message,omitempty" maxLength:"500" doc:"Why, for the history of generations"`
}
