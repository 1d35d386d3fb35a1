package spec

import (
	"cmp"
	"slices"
)

// Alert is something that people are notified of.
type Alert string

// The alerts. Those up to AlertSilent begin an incident; AlertRecovered asks to be notified of its end, too.
const (
	AlertFailed  Alert = "failed"  // a run ended without success, of a DAG a wave
	AlertDead    Alert = "dead"    // a run used up its attempts and left a dead letter
	AlertMissed  Alert = "missed"  // a slot was missed
	AlertSkipped Alert = "skipped" // a slot was skipped because of the runs before it
	AlertLate    Alert = "late"    // a run had not started Lag after its slot
	AlertSlow    Alert = "slow"    // a run, of a DAG a wave, took longer than Duration
	AlertSilent  Alert = "silent"  // nothing has succeeded for SilentFor

	AlertRecovered Alert = "recovered"
	// AlertNone, alone, keeps what the namespace asks for from a definition.
	AlertNone Alert = "none"
)

// Alerts define what people are notified of about a job, a DAG or a task, and where. Lag also says when a run counts as late on the pages.
type Alerts struct {
	On []Alert `json:"on,omitempty"`
	// Lag, Duration and SilentFor each ask for their alert by being there: late, slow, silent.
	Lag       Duration `json:"lag,omitzero"`
	Duration  Duration `json:"duration,omitzero"`
	SilentFor Duration `json:"silent_for,omitzero"`
	// To are names of the namespace's notification targets.
	To []string `json:"to,omitempty"`
}

// Asks reports whether an alert is asked for.
func (a *Alerts) Asks(alert Alert) bool {
	if a == nil || slices.Contains(a.On, AlertNone) {
		return false
	}
	switch alert {
	case AlertLate:
		return a.Lag > 0
	case AlertSlow:
		return a.Duration > 0
	case AlertSilent:
		return a.SilentFor > 0
	default:
		return slices.Contains(a.On, alert)
	}
}

// Any reports whether an alert is asked for that begins an incident.
func (a *Alerts) Any() bool { return slices.ContainsFunc(Beginnings(), a.Asks) }

// Beginnings lists the alerts that begin an incident. The caller owns the list.
func Beginnings() []Alert {
	return []Alert{AlertFailed, AlertDead, AlertMissed, AlertSkipped, AlertLate, AlertSlow, AlertSilent}
}

// values are those that alerts.on may have: the others are asked for by their times.
func (Alert) values() []string {
	return []string{"failed", "dead", "missed", "skipped", "recovered", "none"}
}

// clone returns a copy that shares nothing with a; nil stays nil.
func (a *Alerts) clone() *Alerts {
	if a == nil {
		return nil
	}
	clone := *a
	clone.On, clone.To = slices.Clone(a.On), slices.Clone(a.To)
	return &clone
}

// canonical sorts the sets of a in place. Alerts that say nothing are nil.
func (a *Alerts) canonical() *Alerts {
	if a == nil || len(a.On) == 0 && a.Lag == 0 && a.Duration == 0 && a.SilentFor == 0 && len(a.To) == 0 {
		return nil
	}
	slices.Sort(a.On)
	slices.Sort(a.To)
	return a
}

// Over returns what holds for a definition that says a, in a namespace that says otherwise: what a leaves out comes from there,
// but for SilentFor, which is a definition's own. Either may be nil. Nothing is shared with a.
func (a *Alerts) Over(otherwise *Alerts) Alerts {
	switch {
	case a == nil && otherwise == nil:
		return Alerts{}
	case a == nil:
		a = &Alerts{}
	case otherwise == nil:
		otherwise = &Alerts{}
	}
	merged := Alerts{
		On: a.On, Lag: cmp.Or(a.Lag, otherwise.Lag), Duration: cmp.Or(a.Duration, otherwise.Duration), SilentFor: a.SilentFor, To: a.To,
	}
	if len(merged.On) == 0 {
		merged.On = otherwise.On
	}
	if len(merged.To) == 0 {
		merged.To = otherwise.To
	}
	merged.On, merged.To = slices.Clone(merged.On), slices.Clone(merged.To)
	return merged
}
