package ui

import (
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// allConcerns is the address of the overview with all that needs attention, instead of the first.
const allConcerns = "/?attention=all"

// overviewConcerns lists what needs attention, but for what the reader has dismissed.
func (u *UI) overviewConcerns(c echo.Context, concerns []service.Concern, view *templates.Overview) error {
	ctx := c.Request().Context()
	dismissed, err := u.service.Dismissals(ctx, namespaceOf(ctx), service.Actor(ctx))
	if err != nil {
		return err
	}
	view.Self = "/"
	all := c.QueryParam("attention") == "all"
	if all {
		view.Self = allConcerns
	}
	for i := range concerns {
		shown := viewConcern(&concerns[i])
		at := slices.IndexFunc(dismissed, func(d service.Dismissal) bool { return shown.Dismiss != "" && d.Concern == shown.Dismiss })
		switch {
		case at >= 0:
			shown.Dismissed, shown.DismissedAt = readable([]byte(dismissed[at].Reason)), dismissed[at].At
			view.Dismissed = append(view.Dismissed, shown)
		case all || len(view.Concerns) < listedConcerns:
			view.Concerns = append(view.Concerns, shown)
		default:
			view.MoreConcerns++
		}
	}
	return nil
}

// concernDismiss takes something off the reader's list of what needs attention.
func (u *UI) concernDismiss(c echo.Context) error {
	ctx := c.Request().Context()
	if err := u.service.Dismiss(ctx, namespaceOf(ctx), service.Actor(ctx), c.FormValue("concern"), c.FormValue("reason")); err != nil {
		return err
	}
	return done(c, "/", "concern-dismissed")
}

// concernRecall puts it back.
func (u *UI) concernRecall(c echo.Context) error {
	ctx := c.Request().Context()
	if err := u.service.Recall(ctx, namespaceOf(ctx), service.Actor(ctx), c.FormValue("concern")); err != nil {
		return err
	}
	return done(c, "/", "")
}
