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
}

// SearchKind is what was found.
type SearchKind string

// The kinds.
const (
	SearchJob    SearchKind = "job"
	SearchDAG    SearchKind = "dag"
	SearchRun    SearchKind = "run"
	SearchBinary SearchKind = "binary"
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
	}
	return string(k)
}
