package ui

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/templates"
)

// show answers with a page, or only with its part that refreshes when the page's own script asks. Neither is sent
// before it is whole, so that an error is still a page of its own.
func (u *UI) show(c echo.Context, page, part templ.Component) error {
	c.Response().Header().Add("Vary", "HX-Request")
	if refreshes(c) {
		return u.render(c, http.StatusOK, part)
	}
	return u.render(c, http.StatusOK, page)
}

// refreshes reports whether a script asks for a part of a page.
func refreshes(c echo.Context) bool { return c.Request().Header.Get("HX-Request") == "true" }

func (u *UI) render(c echo.Context, status int, component templ.Component) error {
	var out bytes.Buffer
	// A page about a request that was given up, or of a stream that could not begin, is rendered all the same.
	ctx := templates.WithZone(templates.WithMay(context.WithoutCancel(c.Request().Context()), mayOf(c)), zone(c))
	if err := component.Render(ctx, &out); err != nil {
		return fmt.Errorf("render %s: %w", c.Path(), err)
	}
	return c.HTMLBlob(status, out.Bytes())
}

// noticeParameter carries the name of a notice over the redirect after an action.
const noticeParameter = "done"

// noticeCount goes with it where the notice says to how many it was done.
const noticeCount = "n"

// saidOnce are the parameters that are no part of a page's address.
var saidOnce = []string{noticeParameter, noticeCount, undoParameter}

// notices are what pages say of the action that led to them.
var notices = map[string]string{ //nolint:gosec // these are words for pages, no credentials
	"created":    "Created. Its first slots are below.",
	"saved":      "Saved.",
	"unchanged":  "Nothing has changed.",
	"kept":       "Undone. Nothing was deleted.",
	"paused":     "Paused. Running runs continue.",
	"resumed":    "Resumed.",
	"restored":   "Restored, as a new generation.",
	"backfilled": "Backfill started: the slots run one after another, the oldest first.",
	"started":    "Run queued.",

	"wave-started": "Wave queued. It starts once the wave before it has ended.",
	"wave-resumed": "Resuming. Tasks that succeeded keep their results; the others run again.",
	"waves-asked":  "Backfill started: the waves run one after another, the oldest first.",
	"marked":       "The task is being marked.",
	"cleared":      "The task runs again.",

	"drains":  "Draining. Within seconds it takes no new runs; running ones finish.",
	"goes-on": "Resumed. It takes runs again within seconds.",

	"cancelled":         "Cancelling.",
	"retried":           "Retry queued.",
	"dismissed":         "Dismissed. The run stays in the history.",
	"concern-dismissed": "Dismissed. It is listed again when it happens anew.",

	"uploaded": "Uploaded.",
	"same":     "The file is identical to the latest version, so no new version was made.",
	"moved":    "The alias has moved. Runs that start from now on use it.",
	"back":     "Rolled back.",

	"namespace-created": "Created. Give roles in it under Members.",

	"secret-set":     "Set. Runs that are queued from now on are given the new value.",
	"secret-deleted": "Deleted.",

	"target-set":     "The target is saved. Send a test to see that it is told.",
	"target-deleted": "The target is deleted.",
	"redelivered":    "It is sent again.",
	"silenced":       "Silenced. What begins meanwhile is listed, and not sent.",
	"silence-ended":  "The silence has ended.",
	"rules-set":      "The rules are saved. They hold within about ten seconds.",

	"profile-set":   "Saved.",
	"retention-set": "Saved. What is older goes within the next minutes.",

	"password-changed": "Your password is changed. Sign in with the new one.",
	"session-ended":    "The session has ended.",
	"sessions-ended":   "All other sessions have ended.",
	"token-revoked":    "Revoked. The token opens nothing any more.",

	"user-added":    "Added.",
	"user-disabled": "Disabled. All sessions and tokens have ended.",
	"user-enabled":  "Enabled. The user can sign in again.",
	"user-deleted":  "The user is deleted.",
	"role-given":    "The role is given.",
	"role-removed":  "The role is taken away.",
	"password-set":  "The new password is set. All sessions and tokens have ended.",
}

// done answers an action: go to path, and say there what was done.
func done(c echo.Context, path, notice string) error {
	return c.Redirect(http.StatusSeeOther, noticed(path, notice))
}

// noticed is the address of a page that says what was done; "" says nothing.
func noticed(path, notice string) string {
	if notice == "" {
		return path
	}
	return path + "?" + url.Values{noticeParameter: {notice}}.Encode()
}

// mayOf is what the reader of a page may do in the namespace that it shows: only that is offered.
func mayOf(c echo.Context) templates.May {
	ctx := c.Request().Context()
	identity, namespace := access.From(ctx), namespaceOf(ctx)
	return templates.May{
		Operate: identity.May(namespace, access.Operator), Edit: identity.May(namespace, access.Editor), Admin: identity.May(namespace, access.Admin),
		Root: identity.May(access.Everywhere, access.Admin),
	}
}
