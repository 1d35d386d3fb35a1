package incident

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/wheel"
	"github.com/tidewheel/tidewheel/spec"
)

// notice is the part of an incident that the notifier is being sent.
type notice uint8

const (
	notifyNothing notice = iota
	notifyBeginning
	notifyEnd
)

// Entry is the place of the incident of one subject and alert. It may be empty.
type Entry struct {
	engine.Incident
	current   bool // else there is none: it was dropped
	stored    bool
	dirty     bool
	notifying notice
	failures  int                  // failed notifications in a row
	timer     *wheel.Timer[*Entry] // to notify again, or to fall silent
}

// successor is an incident that is to take the place of another, which says what both have.
func successor(s *Subject, e *Entry) engine.Incident {
	return engine.Incident{
		ID: e.ID, Revision: e.Revision, Shard: engine.ShardOf(s.UID), Namespace: s.Namespace, UID: s.UID, Job: s.Job, DAG: s.DAG, Task: s.Task,
		Alert: e.Alert, To: slices.Clone(s.Alerts.To), Recovered: s.Alerts.Asks(spec.AlertRecovered),
	}
}

// goingOn returns what has begun and is not over, nil if there is none.
func (e *Entry) goingOn() *engine.Incident {
	into := &e.Incident
	if e.current && !e.Over.IsZero() && e.Next != nil {
		into = e.Next
	}
	if !e.current || into.Count == 0 || !into.Over.IsZero() {
		return nil
	}
	return into
}

// Collect adds an entry that has changed to a batch. Where a notification is due it returns that: it is to be sent once the batch is
// durable.
func (e *Entry) Collect(batch *engine.Batch) (notify engine.Incident, due bool) {
	e.dirty = false
	switch {
	case e.current:
		e.Revision++
		e.stored = true
		batch.Incidents = append(batch.Incidents, e.Clone())
		if e.due() {
			return e.notice(), true
		}
	case e.stored:
		batch.DropIncidents = append(batch.DropIncidents, e.ID)
		e.stored, e.Revision = false, 0
	}
	return engine.Incident{}, false
}

// due begins the next notification, and reports whether there is one.
func (e *Entry) due() bool {
	switch {
	case !e.current || e.Count == 0 || e.notifying != notifyNothing:
		return false
	case !e.Notified:
		e.notifying = notifyBeginning
	case !e.Over.IsZero():
		e.notifying = notifyEnd
	}
	return e.notifying != notifyNothing
}

// notice is what the notifier is sent.
func (e *Entry) notice() engine.Incident {
	n := e.Clone()
	n.Next = nil
	if e.notifying == notifyBeginning {
		n.Over, n.OverRun, n.Ended = time.Time{}, "", ""
	}
	return n
}
