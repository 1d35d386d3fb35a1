package templates

import "time"

// Search is the page of a search without scripts; with them the command palette shows the same.
type Search struct {
	Page  Page
	Text  string
	Items []SearchItem
}

// SearchItem is something that was found. The command palette reads it as JSON.
type SearchItem struct {
	Kind   SearchKind `json:"kind"`
	Name   string     `json:"name"`
	Detail string     `json:"detail,omitempty"`
	At     time.Time  `json:"at,omitzero"` // when a run was made
	Href   string     `json:"href"`
	Paused bool       `json:"paused,omitempty"`
	// Favourite is one of the reader's.
	Favourite bool `json:"favourite,omitempty"`
	// Can is what can be done to a run or an executor now: cancel, retry, drain, resume.
	Can []string `json:"can,omitempty"`
	// Ask is the question before an executor is drained; "" for none.
	Ask string `json:"ask,omitempty"`
}

// SearchKind is what was found.
type SearchKind string

// The kinds.
const (
	SearchJob    SearchKind = "job"
	SearchDAG    SearchKind = "dag"
	SearchRun    SearchKind = "run"
	SearchBinary SearchKind = "binary"

	SearchExecutor SearchKind = "executor"
)

// icon is the one of the sprite that stands for a kind.
func (k SearchKind) icon() string {
	switch k {
	case SearchJob:
		return "jobs"
	case SearchDAG:
		return "dags"
	case SearchRun:
		return "runs"
	case SearchBinary:
		return "binaries"
	case SearchExecutor:
		return "executors"
	}
	return "search"
}

func (k SearchKind) word() string {
	switch k {
	case SearchJob:
		return "Job"
	case SearchDAG:
		return "DAG"
	case SearchRun:
		return "Run of"
	case SearchBinary:
		return "Binary"
	case SearchExecutor:
		return "Executor"
	}
	return string(k)
}
