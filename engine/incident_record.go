package engine

import (
	"slices"
	"strconv"
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

// Incident is a problem that users asked to be notified of, from its first sign until it is over. The engine writes it in
// the commit of the run, wave or slot that it is about. While it lasts, further signs only count. Once the notifier has
// its end, the engine removes it.
type Incident struct {
	ID       string `json:"id"` // IncidentID: of what it is about and the alert, so there is one at a time
	Revision int64  `json:"revision"`

	Shard     int        `json:"shard"`
	Namespace string     `json:"namespace"`
	UID       string     `json:"uid"`            // of the job or DAG
	Job       string     `json:"job,omitempty"`  // name, of a job
	DAG       string     `json:"dag,omitempty"`  // name, of a DAG
	Task      string     `json:"task,omitempty"` // of the DAG, where the task's own alerts asked for it
	Alert     spec.Alert `json:"alert"`

	Since  time.Time `json:"since"`          // the first sign; of AlertSilent the instant at which it begins, which may lie ahead
	Latest time.Time `json:"latest"`         // the latest sign
	Count  int64     `json:"count"`          // of signs; 0: it lies ahead
	Run    string    `json:"run,omitempty"`  // of the latest sign
	Wave   string    `json:"wave,omitempty"` // of the latest sign
	Slot   time.Time `json:"slot,omitzero"`  // of the latest sign
	Reason string    `json:"reason"`         // of the latest sign, in words

	Over    time.Time `json:"over,omitzero"`      // zero while it lasts
	OverRun string    `json:"over_run,omitempty"` // what ended it
	Ended   string    `json:"ended,omitempty"`    // why it is over, in words

	// To are the notification targets. Recovered is whether they are notified of the end. Both are as configured at the
	// latest sign.
	To        []string `json:"to,omitempty"`
	Recovered bool     `json:"recovered,omitempty"`
	// Notified reports whether the notifier has its beginning.
	Notified bool `json:"notified,omitempty"`
	// Next is the incident that has begun since this one was over, while the notifier does not have the end. It has no Next
	// itself, and is not notified yet.
	Next *Incident `json:"next,omitempty"`
}

// IncidentID is the identity of the incident of a job, a DAG, or a task of a DAG.
func IncidentID(uid, task string, alert spec.Alert) string {
	if task != "" {
		return uid + "-" + task + "-" + string(alert)
	}
	return uid + "-" + string(alert)
}

// Key returns the identity of the incident's notifications. It differs from that of an earlier incident with the same ID.
func (i *Incident) Key() string { return i.ID + "-" + strconv.FormatInt(i.Since.UnixMilli(), 10) }

// Clone returns a copy that shares nothing with i.
func (i *Incident) Clone() Incident {
	c := *i
	c.To = slices.Clone(i.To)
	if i.Next != nil {
		next := i.Next.Clone()
		c.Next = &next
	}
	return c
}
