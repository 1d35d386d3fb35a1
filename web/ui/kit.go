package ui

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
)

// kit shows every component in all its states, in light and in dark.
func (u *UI) kit(c echo.Context) error {
	view := templates.Kit{Page: u.page(c, "", "Kit"), Slots: []string{"fired", "skipped", "missed", "paused", "active", "ready", "draining", "silent", "late", "waiting", "unserved", "closed", "clear"}}
	for _, status := range engine.Statuses() {
		view.Statuses = append(view.Statuses, status.String())
	}
	return u.render(c, http.StatusOK, templates.KitPage(view))
}
