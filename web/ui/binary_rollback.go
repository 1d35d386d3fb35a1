package ui

import (
	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) binaryRollBack(c echo.Context) error {
	ctx := c.Request().Context()
	binary, _, err := u.service.RollBack(ctx, namespaceOf(ctx), c.Param("name"), c.FormValue("alias"), service.Actor(ctx))
	if err != nil {
		return err
	}
	return done(c, "/binaries/"+binary.Name, "back")
}
