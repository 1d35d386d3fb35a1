package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidewheel/tidewheel/audit"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/notify"
	"github.com/tidewheel/tidewheel/spec"
)

var errNoNotifications = &Error{Kind: KindUnavailable, Code: "no_notifications", Detail: "this server sends no notifications"}

// Notifications defines how this server notifies users. Without a Book it sends no notifications.
type Notifications struct {
	Book *notify.Book
	// Test sends a test message to a target, and returns its answer. nil: this server sends nothing itself.
	Test func(ctx context.Context, namespace, target string) (answer string, err error)
	// Mail means that this server has an SMTP server.
	Mail bool
	// Unable reports why this server cannot send to a target, though another one may; "" where it can. nil: it sends nothing itself.
	Unable func(ctx context.Context, namespace, target string) (reason string, err error)
	// Installation lists what is wrong with the installation as a whole, the latest begun first; nil: nothing is known of it.
	Installation func(ctx context.Context) ([]engine.Incident, error)
}

// book returns the book; an error where there is none.
func (s *Service) book() (*notify.Book, error) {
	if s.config.Notifications.Book == nil {
		return nil, errNoNotifications
	}
	return s.config.Notifications.Book, nil
}

// explainNotify puts an error of the book into words. what and name say what it was asked for.
func explainNotify(err error, what, name string) error {
	var faulty *notify.InvalidError
	var used *notify.InUseError
	switch {
	case errors.As(err, &faulty):
		return field("invalid_"+strings.ReplaceAll(what, " ", "_"), "body."+faulty.Field, "%s: %s", faulty.Field, faulty.Reason)
	case errors.As(err, &used):
		return conflict("target_in_use", "the %s %q is used by %s: change these first", what, name, used.By)
	case errors.Is(err, notify.ErrDelivered):
		return conflict("already_delivered", "the target has taken this notification: to try the target again, send a test")
	}
	return explain(explainSecret(err, name), what, name)
}

const notificationTarget = "notification target"

// Targets lists the notification targets of a namespace by name. Of URLs there is no more than the host.
func (s *Service) Targets(ctx context.Context, namespace, cursor string, limit int) ([]notify.Target, string, error) {
	book, err := s.book()
	if err != nil {
		return nil, "", err
	}
	targets, err := book.Targets(ctx, namespace, cursor, limit)
	if err != nil || len(targets) < limit {
		return targets, "", err
	}
	return targets, targets[len(targets)-1].Name, nil
}

// Target returns a notification target.
func (s *Service) Target(ctx context.Context, namespace, name string) (notify.Target, error) {
	book, err := s.book()
	if err != nil {
		return notify.Target{}, err
	}
	found, err := book.Target(ctx, namespace, name)
	return found, explainNotify(err, notificationTarget, name)
}

// SetTarget makes or changes a notification target, and reports which. signingSecret is that of a new webhook: it is not shown again.
func (s *Service) SetTarget(ctx context.Context, target notify.Target) (set notify.Target, created bool, signingSecret string, err error) {
	book, err := s.book()
	if err != nil {
		return notify.Target{}, false, "", err
	}
	switch target.Kind {
	case notify.TargetEmail:
		if !s.config.Notifications.Mail {
			return notify.Target{}, false, "", field("no_smtp", "body.kind",
				"this server has no SMTP server, and cannot send e-mail: start it with --smtp-url, or choose another kind of target")
		}
	case notify.TargetJob:
		if _, err := s.store.Jobs().Get(ctx, target.Namespace, target.Job); errors.Is(err, engine.ErrNotFound) {
			return notify.Target{}, false, "", field("job_not_found", "body.job", "there is no job %q in the namespace %s: make it first", target.Job, target.Namespace)
		} else if err != nil {
			return notify.Target{}, false, "", fmt.Errorf("look for job %s: %w", target.Job, err)
		}
	case notify.TargetWebhook, notify.TargetSlack, notify.TargetTeams:
	}
	before, err := book.Target(ctx, target.Namespace, target.Name)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		return notify.Target{}, false, "", err
	}
	by := Actor(ctx)
	set, created, signingSecret, err = book.SetTarget(ctx, target, by)
	if err != nil {
		return notify.Target{}, false, "", explainNotify(err, notificationTarget, target.Name)
	}
	change := audit.Change{What: notificationTarget + " " + set.Name, After: targetWords(&set)}
	if !created {
		change.Before = targetWords(&before)
	}
	audit.Describe(ctx, set.Namespace, change)
	s.log.Info("a notification target was set", "namespace", set.Namespace, "target", set.Name, "kind", set.Kind, "by", by)
	return set, created, signingSecret, nil
}

// targetWords describe a target without what is secret of it.
func targetWords(t *notify.Target) string {
	words := string(t.Kind) + " " + t.Shown()
	if t.AllowPrivate {
		words += ", private addresses allowed"
	}
	if t.Digest > 0 {
		words += ", as a digest every " + spec.Duration(t.Digest).String()
	}
	return words
}

// DeleteTarget removes a notification target. It removes one that definitions name only by force: their alerts are not
// sent then. It does not remove one that the rules of the namespace name.
func (s *Service) DeleteTarget(ctx context.Context, namespace, name string, force bool) error {
	target, err := s.Target(ctx, namespace, name)
	if err != nil {
		return err
	}
	users, _, err := s.TargetUsers(ctx, namespace, 0)
	if err != nil {
		return err
	}
	if using := users[name]; len(using) > 0 && !force {
		named := using[:min(len(using), usersNamed)]
		return conflict("target_in_use", "the notification target %q is used by %s (%d in all): change them first, or delete it by force, "+
			"and their notifications go to their other targets only", name, strings.Join(named, ", "), len(using))
	}
	if err := s.config.Notifications.Book.DeleteTarget(ctx, namespace, name); err != nil {
		return explainNotify(err, notificationTarget, name)
	}
	audit.Describe(ctx, namespace, audit.Change{What: notificationTarget + " " + name, Before: targetWords(&target)})
	return nil
}

// TargetUsers returns, for each notification target of a namespace, the jobs, DAGs (as "DAG name") and tasks (as
// dag/task) whose definitions name it, in order. It reads at most so many definitions, 0 for all, and reports in more
// whether there are others.
func (s *Service) TargetUsers(ctx context.Context, namespace string, most int) (users map[string][]string, more bool, err error) {
	users = map[string][]string{}
	more, err = s.eachDefinition(ctx, namespace, most, func(job *engine.Job) {
		addTargetUser(users, job.Name, job.Spec.Alerts)
	}, func(dag *engine.DAG) {
		addTargetUser(users, "DAG "+dag.Name, dag.Spec.Alerts)
		for i := range dag.Spec.Tasks {
			addTargetUser(users, dag.Name+"/"+dag.Spec.Tasks[i].Name, dag.Spec.Tasks[i].Alerts)
		}
	})
	return users, more, err
}

func addTargetUser(users map[string][]string, user string, alerts *spec.Alerts) {
	if alerts == nil {
		return
	}
	for _, name := range alerts.To {
		if n := len(users[name]); n == 0 || users[name][n-1] != user {
			users[name] = append(users[name], user)
		}
	}
}

// TargetProblem returns why this server cannot send to a notification target, though another one may; "" where it can, or sends nothing
// itself.
func (s *Service) TargetProblem(ctx context.Context, namespace, name string) (string, error) {
	if s.config.Notifications.Unable == nil {
		return "", nil
	}
	reason, err := s.config.Notifications.Unable(ctx, namespace, name)
	if errors.Is(err, engine.ErrNotFound) { // it was deleted meanwhile
		return "", nil
	}
	return reason, err
}

// SendsNotifications reports whether this server sends notifications itself.
func (s *Service) SendsNotifications() bool { return s.config.Notifications.Test != nil }

// TestTarget sends a test message to a notification target, and returns its answer.
func (s *Service) TestTarget(ctx context.Context, namespace, name string) (answer string, err error) {
	if _, err := s.Target(ctx, namespace, name); err != nil {
		return "", err
	}
	if s.config.Notifications.Test == nil {
		return "", errNoNotifications
	}
	answer, err = s.config.Notifications.Test(ctx, namespace, name)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return "", explainNotify(err, notificationTarget, name)
	case err != nil:
		return "", &Error{Kind: KindConflict, Code: "test_failed", Err: err, Detail: fmt.Sprintf("the notification target %q did not take the test: %s", name, err)}
	}
	return answer, nil
}

// Deliveries lists the notifications that were sent to targets, the newest first. A page may be shorter than its limit
// and have a next one.
func (s *Service) Deliveries(ctx context.Context, filter notify.DeliveryFilter) ([]notify.Delivery, string, error) {
	book, err := s.book()
	if err != nil {
		return nil, "", err
	}
	if filter.State != "" && !slices.Contains(notify.States(), filter.State) {
		return nil, "", field("invalid_state", "query.state", "state must be one of %s", strings.Join(notify.States(), ", "))
	}
	return book.Deliveries(ctx, filter)
}

// Delivery returns one of them.
func (s *Service) Delivery(ctx context.Context, namespace, id string) (notify.Delivery, error) {
	book, err := s.book()
	if err != nil {
		return notify.Delivery{}, err
	}
	found, err := book.Delivery(ctx, namespace, id)
	return found, explainNotify(err, "notification", id)
}

// Redeliver sends a notification again that was not taken, for another day.
func (s *Service) Redeliver(ctx context.Context, namespace, id string) (notify.Delivery, error) {
	found, err := s.Delivery(ctx, namespace, id)
	if err != nil {
		return notify.Delivery{}, err
	}
	if err := s.config.Notifications.Book.Redeliver(ctx, namespace, id); err != nil {
		return notify.Delivery{}, explainNotify(err, "notification", id)
	}
	audit.Describe(ctx, namespace, audit.Change{What: "notification " + id, Before: found.State, After: notify.StateWaiting})
	return s.Delivery(ctx, namespace, id)
}

// Incidents lists what of the definitions of a namespace, or of the installation, is wrong now, and was asked for by alerts: the
// latest begun first.
func (s *Service) Incidents(ctx context.Context, namespace, cursor string, limit int) ([]engine.Incident, string, error) {
	if namespace != notify.Installation {
		return s.store.IncidentsPage(ctx, namespace, cursor, limit)
	}
	if s.config.Notifications.Installation == nil {
		return nil, "", nil
	}
	all, err := s.config.Notifications.Installation(ctx)
	if err != nil {
		return nil, "", err
	}
	place := func(i *engine.Incident) string { return fmt.Sprintf("%013d-%s", i.Since.UnixMilli(), i.ID) }
	slices.SortFunc(all, func(a, b engine.Incident) int { return cmp.Compare(place(&b), place(&a)) })
	if cursor != "" {
		all = slices.DeleteFunc(all, func(i engine.Incident) bool { return place(&i) >= cursor })
	}
	if len(all) <= limit {
		return all, "", nil
	}
	return all[:limit], place(&all[limit-1]), nil
}

// Silences lists the silences of a namespace that are not over, by when they end.
func (s *Service) Silences(ctx context.Context, namespace string) ([]notify.Silence, error) {
	book, err := s.book()
	if err != nil {
		return nil, err
	}
	return book.Silences(ctx, namespace)
}

// AddSilence keeps notifications from being sent for a time. One with an ID that is there already is left as it is, and returned.
func (s *Service) AddSilence(ctx context.Context, silence notify.Silence) (notify.Silence, error) {
	book, err := s.book()
	if err != nil {
		return notify.Silence{}, err
	}
	silence.By = Actor(ctx)
	made, err := book.AddSilence(ctx, silence)
	if err != nil {
		return notify.Silence{}, explainNotify(err, "silence", "")
	}
	audit.Describe(ctx, made.Namespace, audit.Change{What: "silence " + made.ID, After: silenceWords(&made)})
	return made, nil
}

func silenceWords(s *notify.Silence) string {
	words := "all alerts"
	if s.Alert != "" {
		words = string(s.Alert)
	}
	if s.Definition != "" {
		words += " of " + s.Definition
	}
	return words + " until " + s.Until.Format("2006-01-02T15:04:05Z07:00")
}

// DeleteSilence ends a silence.
func (s *Service) DeleteSilence(ctx context.Context, namespace, id string) error {
	silences, err := s.Silences(ctx, namespace)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(silences, func(one notify.Silence) bool { return one.ID == id })
	if at < 0 {
		return explainNotify(engine.ErrNotFound, "silence", id)
	}
	if err := s.config.Notifications.Book.DeleteSilence(ctx, namespace, id); err != nil {
		return explainNotify(err, "silence", id)
	}
	audit.Describe(ctx, namespace, audit.Change{What: "silence " + id, Before: silenceWords(&silences[at])})
	return nil
}

// NotificationRules returns the default alerts of a namespace, for definitions without alerts of their own. A server
// without notifications has none.
func (s *Service) NotificationRules(ctx context.Context, namespace string) (spec.Alerts, error) {
	if s.config.Notifications.Book == nil {
		return spec.Alerts{}, nil
	}
	return s.config.Notifications.Book.Rules(ctx, namespace)
}

// SetNotificationRules sets the default alerts of a namespace, for definitions without alerts of their own.
func (s *Service) SetNotificationRules(ctx context.Context, namespace string, rules spec.Alerts) error {
	book, err := s.book()
	if err != nil {
		return err
	}
	if problems := spec.ValidateAlerts(&rules); namespace != notify.Installation && len(problems) > 0 {
		refused := invalid(problems)
		refused.Code = "invalid_rules"
		for i := range refused.Fields {
			refused.Fields[i].Location = strings.Replace(refused.Fields[i].Location, "body.alerts", "body", 1)
		}
		return refused
	}
	before, err := book.Rules(ctx, namespace)
	if err != nil {
		return err
	}
	if err := book.SetRules(ctx, namespace, rules, Actor(ctx)); err != nil {
		return explainNotify(err, "rules", "")
	}
	audit.Describe(ctx, namespace, audit.Change{What: "notification rules", Before: AlertWords(&before), After: AlertWords(&rules)})
	return nil
}

// AlertWords returns which alerts are sent and to which targets: "failed, dead, slow after 5m0s to ops, lead"; "" for nothing.
func AlertWords(a *spec.Alerts) string {
	if a == nil {
		return ""
	}
	var parts []string
	for _, alert := range a.On {
		parts = append(parts, string(alert))
	}
	if !slices.Contains(a.On, spec.AlertNone) {
		for _, one := range []struct {
			word  string
			after spec.Duration
		}{{"late after", a.Lag}, {"slow after", a.Duration}, {"silent for", a.SilentFor}} {
			if one.after > 0 {
				parts = append(parts, one.word+" "+one.after.String())
			}
		}
	}
	words := strings.Join(parts, ", ")
	if len(a.To) > 0 {
		words = strings.TrimSpace(words + " to " + strings.Join(a.To, ", "))
	}
	return words
}
