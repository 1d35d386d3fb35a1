package spec_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

func TestRulesOfANamespaceAreJudged(t *testing.T) {
	for _, rules := range []*spec.Alerts{
		nil, {}, {On: []spec.Alert{spec.AlertFailed, spec.AlertRecovered}, Lag: 1e9, Duration: 1e9, To: []string{"ops"}},
	} {
		if problems := spec.ValidateAlerts(rules); len(problems) > 0 {
			t.Errorf("%+v: %v", rules, problems)
		}
	}
	for path, rules := range map[string]*spec.Alerts{
		"alerts.on":         {On: []spec.Alert{spec.AlertNone}},
		"alerts.on[0]":      {On: []spec.Alert{"fialed"}},
		"alerts.to[0]":      {To: []string{"a b"}},
		"alerts.silent_for": {SilentFor: spec.Duration(time.Hour)},
		"alerts.duration":   {Duration: -1},
	} {
		if problems := spec.ValidateAlerts(rules); len(problems) != 1 || problems[0].Path != path {
			t.Errorf("%+v: %v, want one at %s", rules, problems, path)
		}
	}
}

// A definition of an earlier version may have asked for alerts that went nowhere: it is read, valid, and shown as it was written.
func TestAlertsOfEarlierVersionsAreValid(t *testing.T) {
	const source = head + "alerts: {on: [failed], duration: 5m, lag: 20s} # the night shift\n"
	job := decodeOne(t, source)
	if problems := append(job.Validate(), job.Unsupported()...); len(problems) > 0 {
		t.Errorf("it is refused: %v", problems)
	}
	if text, err := spec.Text(job, source); err != nil || string(text) != source {
		t.Errorf("the text that its user wrote is %q, %v", text, err)
	}
	asked := slices.DeleteFunc(spec.Beginnings(), func(a spec.Alert) bool { return !job.Alerts.Asks(a) })
	if !slices.Equal(asked, []spec.Alert{spec.AlertFailed, spec.AlertLate, spec.AlertSlow}) {
		t.Errorf("it asks for %v", asked)
	}
	var nothing *spec.Alerts
	if nothing.Any() || (&spec.Alerts{On: []spec.Alert{spec.AlertNone}, Lag: 1}).Any() || !(&spec.Alerts{Lag: 1}).Any() {
		t.Error("Any is wrong")
	}
}
