package ui

import (
	"encoding/json"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) jobRun(c echo.Context) error {
	ctx := c.Request().Context()
	start := service.Start{By: service.Actor(ctx), Key: c.FormValue("key")}
	if payload := strings.TrimSpace(c.FormValue("payload")); payload != "" {
		start.Payload = json.RawMessage(payload)
	}
	run, _, err := u.service.StartRun(ctx, namespace, c.Param("name"), start)
	if err != nil {
		return err
	}
	return done(c, "/runs/"+run.ID, "started")
}
