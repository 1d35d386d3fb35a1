package ui

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) jobPauseForm(c echo.Context) error {
	return u.jobAct(c, http.StatusOK, "pause", "Pause", nil)
}

func (u *UI) jobPause(c echo.Context) error {
	ctx := c.Request().Context()
	job, err := u.service.PauseJob(ctx, namespaceOf(ctx), c.Param("name"), service.Actor(ctx), c.FormValue("reason"))
	var known *service.Error
	if errors.As(err, &known) && known.Kind == service.KindInvalid {
		return u.jobAct(c, http.StatusUnprocessableEntity, "pause", "Pause", func(view *templates.JobAct) {
			view.Problem, view.Reason = known.Detail, c.FormValue("reason")
		})
	}
	if err != nil {
		return err
	}
	return done(c, "/jobs/"+job.Name, "paused")
}
