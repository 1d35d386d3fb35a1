package ui

import "github.com/labstack/echo/v4"

// runDismiss takes a dead run off the list of what needs attention. The run stays in the history.
func (u *UI) runDismiss(c echo.Context) error {
	ctx := c.Request().Context()
	if err := u.service.PurgeDeadLetter(ctx, namespaceOf(ctx), c.Param("id")); err != nil {
		return err
	}
	return done(c, "/", "dismissed")
}
