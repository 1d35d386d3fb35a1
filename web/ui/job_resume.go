package ui

import (
	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) jobResume(c echo.Context) error {
	ctx := c.Request().Context()
	job, err := u.service.ResumeJob(ctx, namespaceOf(ctx), c.Param("name"), service.Actor(ctx))
	if err != nil {
		return err
	}
	return done(c, "/jobs/"+job.Name, "resumed")
}
