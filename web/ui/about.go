package ui

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const day = 24 * time.Hour

// about says what the server is made of.
func (u *UI) about(c echo.Context) error {
	return u.render(c, http.StatusOK, templates.AboutPage(templates.About{Page: u.page(c, templates.SectionAbout, "About"), Parts: u.config.Parts}))
}

func (u *UI) retention(c echo.Context) error {
	return u.retentionPage(c, http.StatusOK, templates.Retention{}, false)
}

// retentionPage shows the page with what a form left in view, if it was typed.
func (u *UI) retentionPage(c echo.Context, status int, view templates.Retention, typed bool) error {
	ctx := c.Request().Context()
	view.Page, view.Namespace, view.Kept = u.page(c, templates.SectionRetention, "Retention"), namespaceOf(ctx), u.config.Kept
	view.Server, view.ServerOutput = "for ever", "as long as runs"
	for _, kept := range view.Kept {
		switch kept.Flag {
		case "--retention":
			view.Server = kept.For
		case "--retention-output":
			view.ServerOutput = kept.For
		}
	}
	if !typed {
		all, err := u.service.Namespaces(ctx)
		if err != nil {
			return err
		}
		for i := range all {
			if keep := all[i].Retention; all[i].Name == view.Namespace {
				if keep.Age != 0 {
					view.Age = inDays(keep.Age)
				}
				if keep.Output != 0 {
					view.Output = inDays(keep.Output)
				}
				if keep.Runs != 0 {
					view.Runs = strconv.Itoa(keep.Runs)
				}
			}
		}
	}
	return u.render(c, status, templates.RetentionPage(view))
}

// retentionChange changes what the namespace keeps.
func (u *UI) retentionChange(c echo.Context) error {
	ctx := c.Request().Context()
	view := templates.Retention{Age: strings.TrimSpace(c.FormValue("age")), Runs: strings.TrimSpace(c.FormValue("runs")), Output: strings.TrimSpace(c.FormValue("output"))}
	age, output, runs := inHours(view.Age), inHours(view.Output), 0
	var err error
	if view.Runs != "" {
		if runs, err = strconv.Atoi(view.Runs); err != nil || runs < 1 {
			view.Problem = "Write how many runs are kept as a number from 1, or leave it empty."
			return u.retentionPage(c, http.StatusUnprocessableEntity, view, true)
		}
	}
	_, err = u.service.ChangeNamespace(ctx, namespaceOf(ctx), service.NamespaceChange{Age: &age, Runs: &runs, Output: &output})
	if text, status, is := formProblem(err); is {
		view.Problem = text
		return u.retentionPage(c, status, view, true)
	}
	if err != nil {
		return err
	}
	return done(c, templates.RetentionPath, "retention-set")
}

// inDays writes a span as a reader would: "90d", "36h".
func inDays(span spec.Duration) string {
	if days := time.Duration(span) / day; time.Duration(span)%day == 0 {
		return strconv.FormatInt(int64(days), 10) + "d"
	}
	return span.String()
}

// inHours makes of days what a duration can say; what is empty is that of the server.
func inHours(age string) string {
	if age == "" {
		return "0"
	}
	if days, is := strings.CutSuffix(age, "d"); is {
		if n, err := strconv.ParseInt(days, 10, 32); err == nil {
			return strconv.FormatInt(n*24, 10) + "h"
		}
	}
	return age
}

// profileSet keeps how the reader wants pages to be.
func (u *UI) profileSet(c echo.Context) error {
	zone, theme := strings.TrimSpace(c.FormValue("zone")), templates.ParseTheme(c.FormValue("theme"))
	_, err := u.service.SetProfile(c.Request().Context(), func(profile *service.Profile) { profile.Zone, profile.Theme = zone, string(theme) })
	if text, status, is := formProblem(err); is {
		return u.settingsPage(c, status, templates.Settings{ProfileProblem: text, Zone: zone})
	}
	if err != nil {
		return err
	}
	keepChoice(c, themeCookie, string(theme))
	return done(c, templates.SettingsPath, "profile-set")
}

// profile is how the reader wants pages to be: nothing of it where nobody reads, or the store is away.
func (u *UI) profile(c echo.Context) service.Profile {
	ctx := c.Request().Context()
	if access.From(ctx).Name == "" {
		return service.Profile{}
	}
	profile, err := u.service.Profile(ctx)
	if err != nil {
		return service.Profile{}
	}
	return profile
}
