package ui

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"
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
	if err := component.Render(context.WithoutCancel(c.Request().Context()), &out); err != nil {
		return fmt.Errorf("render %s: %w", c.Path(), err)
	}
	return c.HTMLBlob(status, out.Bytes())
}

// noticeParameter carries the name of a notice over the redirect after an action.
const noticeParameter = "done"

// noticeCount goes with it where the notice says to how many it was done.
const noticeCount = "n"

// notices are what pages say of the action that led to them.
var notices = map[string]string{
	"created":    "Created. Its first slots are below.",
	"saved":      "Saved.",
	"unchanged":  "Nothing has changed: the definition is the one that was there.",
	"deleted":    "Deleted. Its history stays.",
	"paused":     "Paused. What runs goes on.",
	"resumed":    "Resumed.",
	"restored":   "Restored, as a new generation.",
	"backfilled": "Asked for. The slots run one after the other, the oldest first.",
	"started":    "Asked for. It starts in a moment.",

	"wave-started": "Asked for. It opens in a moment, or when the wave before it has ended.",
	"wave-resumed": "Asked to go on. What succeeded stays; the rest runs again in a moment.",
	"waves-asked":  "Asked for. The waves follow one another, the oldest first.",
	"marked":       "Asked for. The task counts so in a moment.",

	"drains":  "Asked to drain. It takes nothing new within some seconds, and lets end what runs.",
	"goes-on": "Asked to go on. It takes work again within some seconds.",

	"cancelled": "Asked to stop. It ends in a moment.",
	"retried":   "Asked for another attempt.",
	"dismissed": "Dismissed. The run stays in the history.",
	"uploaded":  "Uploaded.",

	"secret-set":     "Set. Runs that are queued from now on are given the new value.",
	"secret-deleted": "Deleted.",

	"same":  "These bytes are those of the latest version: there is no new one.",
	"moved": "The alias has moved. Runs that begin from now on follow it.",
	"back":  "The alias points where it pointed before.",
}

// done answers an action: go to path, and say there what was done.
func done(c echo.Context, path, notice string) error {
	if notice != "" {
		path += "?" + url.Values{noticeParameter: {notice}}.Encode()
	}
	return c.Redirect(http.StatusSeeOther, path)
}
