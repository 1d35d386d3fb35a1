package incident

import (
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Subject is what an incident is of: a job, a DAG, or a task of one with alerts of its own.
type Subject struct {
	UID, Namespace, Job, DAG, Task string
	Alerts                         *spec.Alerts // what users are notified of; nil for nothing
	Paused                         bool
	PausedAt                       time.Time // when it was paused or resumed last
}

// Subjects are those of a run: its job or task, and the DAG of a task. Each is nil where no user asked to be notified of it.
type Subjects struct{ Own, DAG *Subject }

// None reports whether no user asked to be notified of anything.
func (s Subjects) None() bool { return s.Own == nil && s.DAG == nil }

func (s Subjects) all() []*Subject {
	return slices.DeleteFunc([]*Subject{s.Own, s.DAG}, func(s *Subject) bool { return s == nil })
}

// Asked returns the alerts that apply: those of a definition, or else of its namespace. Either may be nil. It is nil where there are
// none.
func Asked(own, namespace *spec.Alerts) *spec.Alerts {
	if own == nil && namespace == nil {
		return nil
	}
	all := namespace
	if own != nil {
		merged := own.Over(namespace)
		all = &merged
	}
	if len(all.To) == 0 || !all.Any() {
		return nil
	}
	return all
}

// sign is what begins or ends an incident: a run, a wave or a slot.
type sign struct {
	run, wave string
	slot      time.Time
	reason    string // why it began, or why it is over
}

func signOf(r *engine.Run, reason string) sign {
	return sign{run: r.ID, wave: r.Wave, slot: r.Slot, reason: reason}
}
