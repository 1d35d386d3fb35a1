package ui

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/notify"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
)

// targetForm shows the form of a new target of the kind that the query names, or of one that is there.
func (u *UI) targetForm(c echo.Context) error {
	ctx := c.Request().Context()
	form := templates.TargetForm{Kind: c.QueryParam("kind")}
	if name := c.Param("name"); name != "" {
		target, err := u.service.Target(ctx, notifiedOf(ctx), name)
		if err != nil {
			return err
		}
		form = templates.TargetForm{
			Edits: true, Kind: string(target.Kind), Name: name, Where: target.Shown(), Addresses: strings.Join(target.Addresses, "\n"),
			Job: target.Job, Private: target.AllowPrivate,
		}
		if target.Digest > 0 {
			form.Digest = strconv.FormatFloat(target.Digest.Minutes(), 'f', -1, 64)
		}
	}
	return u.targetFormPage(c, http.StatusOK, &form)
}

func (u *UI) targetFormPage(c echo.Context, status int, form *templates.TargetForm) error {
	if !slices.Contains(notify.TargetKinds(), notify.TargetKind(form.Kind)) {
		form.Kind = string(notify.TargetWebhook)
	}
	title := "Add a target"
	if form.Edits {
		title = "Edit " + form.Name
	}
	form.Page = u.page(c, templates.SectionNotifications, title)
	form.Page.Trail = []templates.Crumb{notificationsCrumb(c), {Name: title}}
	return u.render(c, status, templates.TargetFormPage(*form))
}

// targetSet makes a target, or changes the one that the address names.
func (u *UI) targetSet(c echo.Context) error {
	ctx := c.Request().Context()
	form := templates.TargetForm{
		Edits: c.Param("name") != "", Name: c.Param("name"), Kind: c.FormValue("kind"), Addresses: c.FormValue("addresses"), Job: strings.TrimSpace(c.FormValue("job")),
		Private: c.FormValue("allow_private") == "true", Digest: c.FormValue("digest"),
	}
	target := notify.Target{
		Namespace: notifiedOf(ctx), Name: form.Name, Kind: notify.TargetKind(form.Kind), URL: strings.TrimSpace(c.FormValue("url")),
		Addresses: strings.Fields(strings.ReplaceAll(form.Addresses, ",", " ")), Job: form.Job, AllowPrivate: form.Private,
	}
	if form.Edits {
		there, err := u.service.Target(ctx, target.Namespace, target.Name)
		if err != nil {
			return err
		}
		form.Where = there.Shown()
	} else {
		form.Name = c.FormValue("name")
		target.Name = form.Name
	}
	if form.Digest != "" {
		minutes, err := strconv.ParseFloat(form.Digest, 64)
		if err != nil || !(minutes > 0 && minutes <= notify.MaxDigest.Minutes()) {
			form.Problem = "Messages are collected for 1 to 1440 minutes."
			return u.targetFormPage(c, http.StatusUnprocessableEntity, &form)
		}
		target.Digest = time.Duration(minutes * float64(time.Minute)).Round(time.Second)
	}
	set, _, signing, err := u.service.SetTarget(ctx, target)
	if status, words := refusedWith(err); words != "" {
		form.Problem = words
		return u.targetFormPage(c, status, &form)
	} else if err != nil {
		return err
	}
	if signing == "" {
		return done(c, templates.NotificationsPathOf(ctx), "target-set")
	}
	page := u.page(c, templates.SectionNotifications, set.Name+" is set")
	page.Trail = []templates.Crumb{notificationsCrumb(c), {Name: set.Name}}
	c.Response().Header().Set("Cache-Control", "no-store")
	return u.render(c, http.StatusOK, templates.MadeTargetPage(templates.MadeTarget{Page: page, Name: set.Name, Signing: signing}))
}

// targetTest sends a test, and shows the answer of the target.
func (u *UI) targetTest(c echo.Context) error {
	ctx, name := c.Request().Context(), c.Param("name")
	answer, err := u.service.TestTarget(ctx, notifiedOf(ctx), name)
	tested := templates.TestedTarget{Target: name, Answer: readable([]byte(answer))}
	status, words := refusedWith(err)
	switch {
	case words != "":
		tested.Problem = readable([]byte(words))
	case err != nil:
		return err
	default:
		status = http.StatusOK
	}
	return u.notificationPage(c, status, func(v *templates.Notifications) { v.Tested = &tested })
}

func (u *UI) targetDeleteForm(c echo.Context) error {
	ctx, name := c.Request().Context(), c.Param("name")
	target, err := u.service.Target(ctx, notifiedOf(ctx), name)
	if err != nil {
		return err
	}
	users, _, err := u.service.TargetUsers(ctx, notifiedOf(ctx), 0)
	if err != nil {
		return err
	}
	rules, err := u.service.NotificationRules(ctx, notifiedOf(ctx))
	if err != nil {
		return err
	}
	page := u.page(c, templates.SectionNotifications, "Delete "+name)
	page.Trail = []templates.Crumb{notificationsCrumb(c), {Name: "Delete"}}
	return u.render(c, http.StatusOK, templates.TargetDeletePage(templates.TargetDelete{Page: page, Target: targetRow(&target, users, &rules)}))
}

func (u *UI) targetDelete(c echo.Context) error {
	ctx := c.Request().Context()
	if err := u.service.DeleteTarget(ctx, notifiedOf(ctx), c.Param("name"), c.FormValue("force") == "true"); err != nil {
		return err
	}
	return done(c, templates.NotificationsPathOf(ctx), "target-deleted")
}

// cutBack takes the address of a job's or DAG's page apart: "/jobs/NAME".
func cutBack(path string) (kind, name string, ok bool) {
	kind, name, ok = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return kind, name, ok && (kind == "jobs" || kind == "dags") && spec.ValidName("job", name) == nil
}
