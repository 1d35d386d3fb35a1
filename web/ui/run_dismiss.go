package ui

import "github.com/labstack/echo/v4"

// runDismiss takes a dead run off the list of what needs attention. The run stays in the history.
func (u *UI) runDismiss(c echo.Context) error {
	if err := u.service.PurgeDeadLetter(c.Request().Context(), c.Param("id")); err != nil {
		return err
	}
	return done(c, "/", "dismissed")
}
