package ui

import (
	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) jobDelete(c echo.Context) error {
	ctx := c.Request().Context()
	if err := u.service.DeleteJob(ctx, namespace, c.Param("name"), service.Actor(ctx), 0); err != nil {
		return err
	}
	return done(c, "/jobs", "deleted")
}
