package ui

import (
	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) binaryDelete(c echo.Context) error {
	return u.remove(c, service.RemovedBinaries, []string{c.Param("name")}, "/binaries")
}
