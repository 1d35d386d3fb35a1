package ui

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/notify"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	incidentsShown    = 10
	deliveriesPerPage = 20
	// targetsShown is how many targets the page lists: more than a namespace has.
	targetsShown = 500
	// targetUsersLooked is how many definitions the page looks at to tell who names targets.
	targetUsersLooked = 20_000
)

// notificationRoutes are those of the namespace of the request, and the same of the installation as a whole.
func (u *UI) notificationRoutes(router Router) {
	u.notificationRoutesBelow(router, templates.NotificationsPath)
	u.notificationRoutesBelow(router, templates.InstallationPath, func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.SetRequest(c.Request().WithContext(templates.WithInstallation(c.Request().Context())))
			return next(c)
		}
	})
}

// notifiedOf is what the pages of notifications are about: the namespace of the request, or the installation.
func notifiedOf(ctx context.Context) string {
	if templates.OfInstallation(ctx) {
		return notify.Installation
	}
	return namespaceOf(ctx)
}

func notificationsTitle(ctx context.Context) string {
	if templates.OfInstallation(ctx) {
		return "Notifications of the installation"
	}
	return "Notifications"
}

// notificationsCrumb leads back to the page.
func notificationsCrumb(c echo.Context) templates.Crumb {
	ctx := c.Request().Context()
	return templates.Crumb{Name: notificationsTitle(ctx), Href: templates.NotificationsPathOf(ctx)}
}

func (u *UI) notificationRoutesBelow(router Router, path string, also ...echo.MiddlewareFunc) {
	router.GET(path, u.notificationList, also...)
	router.POST(path+"/deliveries/:id/retry", u.deliveryRetry, also...)
	router.GET(path+"/targets/new", u.targetForm, also...)
	router.POST(path+"/targets/new", u.targetSet, also...)
	router.GET(path+"/targets/:name/edit", u.targetForm, also...)
	router.POST(path+"/targets/:name/edit", u.targetSet, also...)
	router.POST(path+"/targets/:name/test", u.targetTest, also...)
	router.GET(path+"/targets/:name/delete", u.targetDeleteForm, also...)
	router.POST(path+"/targets/:name/delete", u.targetDelete, also...)
	router.POST(path+"/silences", u.silenceAdd, also...)
	router.POST(path+"/silences/:id/end", u.silenceEnd, also...)
	router.POST(path+"/rules", u.rulesSet, also...)
}

func (u *UI) notificationList(c echo.Context) error {
	return u.notificationPage(c, http.StatusOK, func(*templates.Notifications) {})
}

// notificationPage shows the page after a change of what it shows.
func (u *UI) notificationPage(c echo.Context, status int, change func(*templates.Notifications)) error {
	ctx, cursor := c.Request().Context(), c.QueryParam("cursor")
	namespace := notifiedOf(ctx)
	view := templates.Notifications{Page: u.page(c, templates.SectionNotifications, notificationsTitle(ctx)), Target: c.QueryParam("target"), State: c.QueryParam("state")}
	if templates.OfInstallation(ctx) {
		view.Page.Trail = []templates.Crumb{{Name: "Notifications", Href: templates.NotificationsPath}, {Name: "Installation"}}
	}
	incidents, more, err := u.service.Incidents(ctx, namespace, "", incidentsShown)
	if err != nil {
		return err
	}
	view.MoreIncidents = more != ""
	view.Incidents = incidentRows(incidents)
	if err := u.installationOf(ctx, &view); err != nil {
		return err
	}
	deliveries, next, err := u.service.Deliveries(ctx, notify.DeliveryFilter{
		Namespace: namespace, Target: view.Target, State: view.State, After: cursor, Limit: deliveriesPerPage,
	})
	if err != nil {
		return err
	}
	view.Pager = pager(c, cursor, next)
	for i := range deliveries {
		view.Deliveries = append(view.Deliveries, deliveryRow(&deliveries[i]))
	}
	if err := u.targetsOf(ctx, &view, namespace); err != nil {
		return err
	}
	silences, err := u.service.Silences(ctx, namespace)
	if err != nil {
		return err
	}
	view.Silences, view.Silence.For = silenceRows(silences), "1h"
	change(&view)
	return u.render(c, status, templates.NotificationsPage(view))
}

func incidentRows(incidents []engine.Incident) (rows []templates.IncidentRow) {
	for i := range incidents {
		one := &incidents[i]
		rows = append(rows, templates.IncidentRow{
			About: aboutIncident(one), Alert: string(one.Alert), Since: one.Since, Latest: one.Latest, Count: one.Count, Reason: readable([]byte(one.Reason)),
		})
	}
	return rows
}

// installationOf shows admins of all namespaces what is wrong with the installation as a whole.
func (u *UI) installationOf(ctx context.Context, view *templates.Notifications) error {
	if !access.From(ctx).May(access.Everywhere, access.Admin) || templates.OfInstallation(ctx) {
		return nil
	}
	incidents, _, err := u.service.Incidents(ctx, notify.Installation, "", incidentsShown)
	if err != nil {
		return err
	}
	rules, err := u.service.NotificationRules(ctx, notify.Installation)
	view.Installation, view.InstallationRules = incidentRows(incidents), service.AlertWords(&rules)
	return err
}

// targetsOf shows the targets and the rules of a namespace.
func (u *UI) targetsOf(ctx context.Context, view *templates.Notifications, namespace string) error {
	targets, _, err := u.service.Targets(ctx, namespace, "", targetsShown)
	if err != nil {
		return err
	}
	rules, err := u.service.NotificationRules(ctx, namespace)
	if err != nil {
		return err
	}
	view.RulesWords, view.Rules = service.AlertWords(&rules), rulesForm(&rules)
	var users map[string][]string
	if len(targets) > 0 {
		if users, view.MoreUsers, err = u.service.TargetUsers(ctx, namespace, targetUsersLooked); err != nil {
			return err
		}
	}
	for i := range targets {
		row := targetRow(&targets[i], users, &rules)
		if row.Problem, err = u.service.TargetProblem(ctx, namespace, targets[i].Name); err != nil {
			return err
		}
		view.Targets = append(view.Targets, row)
	}
	view.Unsent = !u.service.SendsNotifications()
	return nil
}

func rulesForm(rules *spec.Alerts) templates.RulesForm {
	form := templates.RulesForm{To: rules.To}
	for _, alert := range rules.On {
		form.On = append(form.On, string(alert))
	}
	if rules.Lag > 0 {
		form.Lag = rules.Lag.String()
	}
	if rules.Duration > 0 {
		form.Duration = rules.Duration.String()
	}
	return form
}

func targetRow(t *notify.Target, users map[string][]string, rules *spec.Alerts) templates.TargetRow {
	row := templates.TargetRow{
		Name: t.Name, Kind: string(t.Kind), Where: t.Shown(), Private: t.AllowPrivate, By: t.UpdatedBy, At: t.UpdatedAt,
		Users: users[t.Name], ByRules: slices.Contains(rules.To, t.Name),
	}
	if t.Digest > 0 {
		row.Digest = spec.Duration(t.Digest).String()
	}
	return row
}

func aboutIncident(i *engine.Incident) templates.AboutWhat {
	about := templates.AboutWhat{Job: i.Job, DAG: i.DAG, Task: i.Task, Run: i.Run, Wave: i.Wave}
	if i.Namespace == notify.Installation {
		about.Subject = notify.Subject(i)
	}
	return about
}

func deliveryRow(d *notify.Delivery) templates.DeliveryRow {
	row := templates.DeliveryRow{
		ID: d.ID, Target: d.Target, About: aboutIncident(&d.Incident), Alert: string(d.Incident.Alert), Over: d.Over,
		State: d.State, Tries: d.Tries, At: d.CreatedAt, NextAt: d.NextAt, Answer: readable([]byte(d.Reason)),
	}
	reason := d.Incident.Reason
	if d.Over {
		reason = d.Incident.Ended
	}
	row.Reason = readable([]byte(reason))
	if n := len(d.Attempts); n > 0 {
		last := d.Attempts[n-1]
		row.Answer = readable([]byte(cmp.Or(last.Error, last.Answer)))
	}
	return row
}

func silenceRows(silences []notify.Silence) (rows []templates.SilenceRow) {
	for i := range silences {
		s := &silences[i]
		rows = append(rows, templates.SilenceRow{
			ID: s.ID, Definition: s.Definition, Alert: string(s.Alert), From: s.From, Until: s.Until, By: s.By, Reason: readable([]byte(s.Reason)),
		})
	}
	return rows
}

// shownAlerts says what is sent about a job or DAG, and to whom.
func (u *UI) shownAlerts(ctx context.Context, name string, own *spec.Alerts) (view templates.ShownAlerts, err error) {
	namespace := namespaceOf(ctx)
	alerts, err := u.service.AlertsOf(ctx, namespace, own)
	if err != nil {
		return view, err
	}
	if alerts.Any() && len(alerts.To) > 0 {
		view.Words = service.AlertWords(&alerts)
		view.FromRules = view.Words != service.AlertWords(own)
	}
	silences, err := u.service.SilencesOf(ctx, namespace, name)
	view.Silences = silenceRows(silences)
	return view, err
}

// alertChoices are the targets that the form of a definition offers, and what the rules of the namespace say, in words.
func (u *UI) alertChoices(ctx context.Context, form *templates.DefinitionForm) error {
	targets, _, err := u.service.Targets(ctx, namespaceOf(ctx), "", targetsShown)
	if err != nil {
		return err
	}
	for i := range targets {
		form.Targets = append(form.Targets, targets[i].Name)
	}
	rules, err := u.service.NotificationRules(ctx, namespaceOf(ctx))
	form.Rules = service.AlertWords(&rules)
	return err
}

// refusedWith returns what is to be said of a request that was refused, and the status of the answer; "" for any other error.
func refusedWith(err error) (status int, words string) {
	known, is := errors.AsType[*service.Error](err)
	switch {
	case !is:
	case known.Kind == service.KindInvalid:
		return http.StatusUnprocessableEntity, known.Detail
	case known.Kind == service.KindConflict:
		return http.StatusConflict, known.Detail
	}
	return 0, ""
}

func (u *UI) deliveryRetry(c echo.Context) error {
	ctx := c.Request().Context()
	if _, err := u.service.Redeliver(ctx, notifiedOf(ctx), c.Param("id")); err != nil {
		return err
	}
	return done(c, templates.NotificationsPathOf(ctx), "redelivered")
}

func (u *UI) silenceAdd(c echo.Context) error {
	ctx := c.Request().Context()
	form := templates.SilenceForm{
		Definition: c.FormValue("definition"), Alert: c.FormValue("alert"), For: c.FormValue("for"), Hours: c.FormValue("hours"), Reason: c.FormValue("reason"),
	}
	back, err := silenceBack(c)
	if err != nil {
		return err
	}
	span := form.For
	if span == "" {
		span = form.Hours + "h"
	}
	lasts, err := time.ParseDuration(span)
	if err != nil {
		form.Problem = "Say for how many hours."
		return u.notificationPage(c, http.StatusUnprocessableEntity, func(v *templates.Notifications) { v.Silence = form })
	}
	_, err = u.service.AddSilence(ctx, notify.Silence{
		Namespace: notifiedOf(ctx), Definition: form.Definition, Alert: spec.Alert(form.Alert), Until: u.now().Add(lasts), Reason: form.Reason,
	})
	if status, words := refusedWith(err); words != "" {
		form.Problem = words
		return u.notificationPage(c, status, func(v *templates.Notifications) { v.Silence = form })
	} else if err != nil {
		return err
	}
	return done(c, back, "silenced")
}

func (u *UI) silenceEnd(c echo.Context) error {
	ctx := c.Request().Context()
	back, err := silenceBack(c)
	if err != nil {
		return err
	}
	if err := u.service.DeleteSilence(ctx, notifiedOf(ctx), c.Param("id")); err != nil {
		return err
	}
	return done(c, back, "silence-ended")
}

// silenceBack is the page that a silence was made or ended on: that of a job or a DAG, or that of notifications.
func silenceBack(c echo.Context) (string, error) {
	switch kind, name, ok := cutBack(c.FormValue("back")); {
	case c.FormValue("back") == "":
		return templates.NotificationsPathOf(c.Request().Context()), nil
	case !ok:
		return "", echo.ErrBadRequest
	default:
		return "/" + kind + "/" + name, nil
	}
}

func (u *UI) rulesSet(c echo.Context) error {
	ctx := c.Request().Context()
	values, err := c.FormParams()
	if err != nil {
		return echo.ErrBadRequest
	}
	form := templates.RulesForm{On: values["on"], To: values["to"], Lag: values.Get("lag"), Duration: values.Get("duration")}
	rules := spec.Alerts{To: form.To}
	for _, alert := range form.On {
		rules.On = append(rules.On, spec.Alert(alert))
	}
	for _, one := range []struct {
		text string
		into *spec.Duration
	}{{form.Lag, &rules.Lag}, {form.Duration, &rules.Duration}} {
		if one.text == "" {
			continue
		}
		if err := one.into.UnmarshalText([]byte(one.text)); err != nil {
			form.Problem = "“" + one.text + "” is no time: write it as 30s, 5m or 2h."
			return u.notificationPage(c, http.StatusUnprocessableEntity, func(v *templates.Notifications) { v.Rules = form })
		}
	}
	err = u.service.SetNotificationRules(ctx, notifiedOf(ctx), rules)
	if status, words := refusedWith(err); words != "" {
		form.Problem = words
		return u.notificationPage(c, status, func(v *templates.Notifications) { v.Rules = form })
	} else if err != nil {
		return err
	}
	return done(c, templates.NotificationsPathOf(ctx), "rules-set")
}
