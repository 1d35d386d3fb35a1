package ui

import (
	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) runCancel(c echo.Context) error {
	ctx := c.Request().Context()
	run, err := u.service.CancelRun(ctx, c.Param("id"), service.Actor(ctx))
	if err != nil {
		return err
	}
	return done(c, "/runs/"+run.ID, "cancelled")
}
