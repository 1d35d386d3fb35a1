package trigger

import (
	"encoding/json"
	"time"
)

// Source says where events come from. It is the name of the trigger in a definition.
type Source string

// The sources.
const (
	Webhook      Source = "webhook"
	AfterSuccess Source = "after_success"
	Message      Source = "message"
	Objects      Source = "objects"
)

// Event is something that starts a run of a job or a wave of a DAG.
type Event struct {
	Source Source
	// ID is the event's own. Two events of one source and one definition with the same ID are one event.
	ID string
	// By says in words what the run was started by.
	By string
	// Payload is what the run reads, nil for none.
	Payload json.RawMessage
	// Instead lets Payload take the place of the definition's own one.
	Instead bool
}

// Key is what the id of the run or wave is derived from.
func (e *Event) Key() string { return "event/" + string(e.Source) + "/" + e.ID }

// Outcome is what the last event of a source has led to.
type Outcome struct {
	At     time.Time `json:"at"`
	Event  string    `json:"event"`            // the event's id
	Run    string    `json:"run,omitempty"`    // the run or wave that it started
	Reason string    `json:"reason,omitempty"` // why it started none
}
