package ui

import (
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) binaryAlias(c echo.Context) error {
	ctx := c.Request().Context()
	version, _ := strconv.Atoi(c.FormValue("version")) // what is no number is no version, which the service says
	binary, err := u.service.MoveAlias(ctx, namespace, c.Param("name"), strings.TrimSpace(c.FormValue("alias")), version, service.Actor(ctx))
	if err != nil {
		return err
	}
	return done(c, "/binaries/"+binary.Name, "moved")
}
