package ui

import "github.com/labstack/echo/v4"

func (u *UI) binaryDelete(c echo.Context) error {
	if err := u.service.DeleteBinary(c.Request().Context(), namespaceOf(c.Request().Context()), c.Param("name")); err != nil {
		return err
	}
	return done(c, "/binaries", "deleted")
}
