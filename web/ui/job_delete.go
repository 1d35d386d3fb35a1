package ui

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) jobDeleteForm(c echo.Context) error {
	return u.jobAct(c, http.StatusOK, "delete", "Delete", nil)
}

// jobDelete deletes nothing before the job's name has been typed.
func (u *UI) jobDelete(c echo.Context) error {
	ctx := c.Request().Context()
	if typed := strings.TrimSpace(c.FormValue("confirm")); typed != c.Param("name") {
		return u.jobAct(c, http.StatusUnprocessableEntity, "delete", "Delete", func(view *templates.JobAct) {
			view.Problem, view.Confirm = "Type the name of the job as it is: nothing has been deleted.", typed
		})
	}
	if err := u.service.DeleteJob(ctx, namespaceOf(ctx), c.Param("name"), service.Actor(ctx), 0); err != nil {
		return err
	}
	return done(c, "/jobs", "deleted")
}
