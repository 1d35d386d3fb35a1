package spec

import (
	"fmt"
	"slices"
	"time"
)

// Bounds of alerts.
const (
	// MaxTargets is how many notification targets alerts may name.
	MaxTargets = 10

	minSilent = Duration(time.Minute)
	maxSilent = Duration(400 * 24 * time.Hour)
)

// alertTimes are the keys that ask for an alert by a time.
var alertTimes = map[Alert]string{AlertLate: "lag", AlertSlow: "duration", AlertSilent: "silent_for"}

// ValidateAlerts returns every fault of the alerts of a namespace, each with its Path, which begins with "alerts", or nil.
func ValidateAlerts(rules *Alerts) Problems {
	v := &validator{}
	v.alerts(rules)
	if rules == nil {
		return v.problems
	}
	if slices.Contains(rules.On, AlertNone) {
		v.add("alerts.on", "has none, by which a definition keeps the alerts of its namespace away: leave on out here")
	}
	if rules.SilentFor != 0 {
		v.add("alerts.silent_for", "depends on how often a definition runs: set it in the definition")
	}
	return v.problems
}

// alerts judges those of a job, a DAG or a namespace.
func (v *validator) alerts(a *Alerts) {
	if a == nil {
		return
	}
	v.alertNames(a.On)
	v.duration("alerts.lag", a.Lag, minDelay, maxDuration)
	v.duration("alerts.duration", a.Duration, minDelay, maxDuration)
	v.duration("alerts.silent_for", a.SilentFor, minSilent, maxSilent)
	v.targets(a.To)
	switch {
	case slices.Contains(a.On, AlertNone):
		v.noneAlone(a)
	case slices.Contains(a.On, AlertRecovered) && !a.Any():
		v.add("alerts.on", "asks for recovered alone: name the alerts to recover from, such as [failed, recovered]")
	}
}

// noneAlone refuses what none makes vain. It leaves lag, which also says when a run counts as late.
func (v *validator) noneAlone(a *Alerts) {
	const vain = "does nothing beside on: [none]: remove one of them"
	if len(a.On) > 1 {
		v.add("alerts.on", "has none beside others: none stands alone")
	}
	if a.Duration != 0 {
		v.add("alerts.duration", vain)
	}
	if a.SilentFor != 0 {
		v.add("alerts.silent_for", vain)
	}
	if len(a.To) > 0 {
		v.add("alerts.to", vain)
	}
}

func (v *validator) alertNames(names []Alert) {
	for i, name := range names {
		path := fmt.Sprintf("alerts.on[%d]", i)
		switch {
		case slices.Contains(names[:i], name):
			v.add(path, "repeats %s: list each alert once", quote(string(name)))
		case alertTimes[name] != "":
			v.add(path, "is %s, which is asked for by its time: set alerts.%s instead", name, alertTimes[name])
		case name == "":
			v.add(path, "is empty: use %s", orList(name.values()))
		default:
			v.oneOf(path, name, string(name))
		}
	}
}

func (v *validator) targets(names []string) {
	v.atMost("alerts.to", len(names), MaxTargets, "targets")
	for i, name := range names {
		path := fmt.Sprintf("alerts.to[%d]", i)
		if fault := nameFault(name); fault != "" {
			v.add(path, "must be the name of a notification target; it %s", fault)
		} else if slices.Contains(names[:i], name) {
			v.add(path, "repeats %s: list each target once", quote(name))
		}
	}
}

// taskAlerts judges those of a task. A task has no slots of its own, and takes nothing from its DAG or its namespace.
func (v *validator) taskAlerts(a *Alerts) {
	if a == nil {
		return
	}
	const ofDAG = "belongs to the alerts of the DAG: a task has no slots of its own"
	before := len(v.problems)
	for i, name := range a.On {
		path := fmt.Sprintf("alerts.on[%d]", i)
		switch name {
		case AlertMissed, AlertSkipped, AlertLate, AlertSilent:
			v.add(path, "is %s, which %s", name, ofDAG)
		case AlertNone:
			v.add(path, "is none, and a task has no alerts but its own: remove alerts")
		case AlertFailed, AlertDead, AlertSlow, AlertRecovered:
		}
	}
	if a.Lag != 0 {
		v.add("alerts.lag", ofDAG)
	}
	if a.SilentFor != 0 {
		v.add("alerts.silent_for", ofDAG)
	}
	if len(v.problems) > before {
		return
	}
	v.alerts(a)
	if a.Any() && len(a.To) == 0 {
		v.add("alerts.to", "is missing: name the notification targets, a task takes none from its DAG or its namespace")
	} else if len(a.To) > 0 && !a.Any() && !slices.Contains(a.On, AlertRecovered) {
		v.add("alerts.to", "has no alerts: say which, such as on: [failed]")
	}
}
