package service

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/notify"
	"github.com/tidewheel/tidewheel/spec"
)

// alertsCheck judges the alerts of a definition and of its tasks against what there is in its namespace. It looks each target up once.
type alertsCheck struct {
	s         *Service
	namespace string
	rules     *spec.Alerts // of the namespace; nil until they are asked for
	known     map[string]string
}

func (s *Service) newAlertsCheck(namespace string) *alertsCheck {
	return &alertsCheck{s: s, namespace: namespace, known: map[string]string{}}
}

// The codes of faults of alerts.
const (
	codeNoTarget    = "target_not_found"
	codeUndelivered = "alerts_undelivered"
	codeNothingTold = "alerts_of_nothing"
)

// faults returns why alerts would not be delivered. path is of the alerts, ofTask that they take nothing from the namespace.
func (c *alertsCheck) faults(ctx context.Context, path string, own *spec.Alerts, ofTask bool) (faults []taskFault, err error) {
	if own == nil || slices.Contains(own.On, spec.AlertNone) {
		return nil, nil
	}
	add := func(code, at, format string, args ...any) {
		refused := field(code, path+at, format, args...)
		faults = append(faults, taskFault{refused.Fields[0], code})
	}
	for i, name := range own.To {
		fault, err := c.targetFault(ctx, name)
		if err != nil {
			return nil, err
		}
		if fault != "" {
			add(codeNoTarget, fmt.Sprintf(".to[%d]", i), "%s", fault)
		}
	}
	asked := *own
	asked.Lag = 0 // it also says when a run counts as late
	if ofTask || len(own.To) > 0 == asked.Any() {
		return faults, nil
	}
	if c.rules == nil {
		rules, err := c.s.NotificationRules(ctx, c.namespace)
		if err != nil {
			return nil, fmt.Errorf("read the notification rules of %s: %w", c.namespace, err)
		}
		c.rules = &rules
	}
	switch effective := own.Over(c.rules); {
	case asked.Any() && len(effective.To) == 0:
		add(codeUndelivered, "", "alerts would be sent to no target: name notification targets in alerts.to, "+
			"or give the namespace some with `tidewheel notify rules set --to`")
	case len(own.To) > 0 && !effective.Any():
		add(codeNothingTold, ".to", "alerts.to has no alerts: say which, such as on: [failed], or by the rules of the namespace")
	}
	return faults, nil
}

// targetFault returns why a target would get no notification; "" if it would.
func (c *alertsCheck) targetFault(ctx context.Context, name string) (string, error) {
	if fault, looked := c.known[name]; looked {
		return fault, nil
	}
	target, err := c.s.Target(ctx, c.namespace, name)
	known, refused := errors.AsType[*Error](err)
	fault := ""
	switch {
	case err == nil && target.Kind == notify.TargetEmail && !c.s.config.Notifications.Mail:
		fault = fmt.Sprintf("the notification target %q is reached by e-mail, and this server has no SMTP server: start it with --smtp-url, or name another target", name)
	case err == nil:
	case known == errNoNotifications:
		fault = known.Detail
	case refused && known.Kind == KindNotFound:
		fault = fmt.Sprintf("there is no notification target %q: make it first with `tidewheel notify target set %s`", name, name)
	default:
		return "", fmt.Errorf("look for notification target %s: %w", name, err)
	}
	c.known[name] = fault
	return fault, nil
}

// jobAlertFaults returns why the alerts of a job would not be delivered.
func (s *Service) jobAlertFaults(ctx context.Context, namespace string, job *spec.Job) ([]taskFault, error) {
	return s.newAlertsCheck(namespace).faults(ctx, "body.alerts", job.Alerts, false)
}

// dagAlertFaults returns why the alerts of a DAG and of its tasks would not be delivered.
func (s *Service) dagAlertFaults(ctx context.Context, namespace string, dag *spec.DAG) ([]taskFault, error) {
	check := s.newAlertsCheck(namespace)
	faults, err := check.faults(ctx, "body.alerts", dag.Alerts, false)
	for i := 0; i < len(dag.Tasks) && err == nil && len(faults) < spec.MaxProblems; i++ {
		var more []taskFault
		more, err = check.faults(ctx, "body.tasks."+dag.Tasks[i].Name+".alerts", dag.Tasks[i].Alerts, true)
		for _, fault := range more {
			fault.Message = fmt.Sprintf("task %s: %s", dag.Tasks[i].Name, fault.Message)
			faults = append(faults, fault)
		}
	}
	return faults, err
}

// alertHindrances report that a definition which is stored asks for alerts that are not delivered.
func alertHindrances(faults []taskFault) []Hindrance {
	var found []Hindrance
	for _, fault := range faults {
		found = append(found, Hindrance{Code: fault.code, Words: sentence(fault.Message)})
	}
	return found
}

// unsentAlerts returns which targets of a definition's alerts this server cannot send to, though another one may. What cannot be found out
// is no warning.
func (s *Service) unsentAlerts(ctx context.Context, namespace string, document spec.Document) (warnings []string) {
	var names []string
	add := func(own *spec.Alerts) {
		if own != nil && !slices.Contains(own.On, spec.AlertNone) {
			names = append(names, own.To...)
		}
	}
	if document.DAG != nil {
		add(document.DAG.Alerts)
		for i := range document.DAG.Tasks {
			add(document.DAG.Tasks[i].Alerts)
		}
	} else {
		add(document.Job.Alerts)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if problem, err := s.TargetProblem(ctx, namespace, name); err == nil && problem != "" {
			warnings = append(warnings, problem+": notifications to target "+name+" wait for a server that can send them")
		}
	}
	return warnings
}

// unsentHindrances are unsentAlerts of a definition that is stored.
func (s *Service) unsentHindrances(ctx context.Context, namespace string, document spec.Document) (found []Hindrance) {
	for _, words := range s.unsentAlerts(ctx, namespace, document) {
		found = append(found, Hindrance{Code: "target_unable", Words: sentence(words)})
	}
	return found
}

// AlertsOf returns the alerts of a job or DAG together with those of its namespace, as they hold for it.
func (s *Service) AlertsOf(ctx context.Context, namespace string, own *spec.Alerts) (spec.Alerts, error) {
	rules, err := s.NotificationRules(ctx, namespace)
	return own.Over(&rules), err
}

// SilencesOf returns the silences that now keep notifications about a job or DAG from being sent.
func (s *Service) SilencesOf(ctx context.Context, namespace, name string) (found []notify.Silence, err error) {
	if s.config.Notifications.Book == nil {
		return nil, nil
	}
	silences, err := s.Silences(ctx, namespace)
	for i := range silences {
		one := silences[i]
		if one.Covers(&engine.Incident{Job: name, Alert: one.Alert}, s.now()) {
			found = append(found, one)
		}
	}
	return found, err
}
