package ui

import (
	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) executorDrain(c echo.Context) error { return u.executorOrder(c, true, "drains") }

func (u *UI) executorResume(c echo.Context) error { return u.executorOrder(c, false, "goes-on") }

func (u *UI) executorOrder(c echo.Context, drain bool, notice string) error {
	ctx := c.Request().Context()
	if _, err := u.service.DrainExecutor(ctx, c.Param("id"), service.Actor(ctx), drain); err != nil {
		return err
	}
	return done(c, "/executors", notice)
}
