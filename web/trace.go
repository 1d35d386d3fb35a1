package web

import (
	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/web/service"
)

// trace lets requests of the API that were let in continue the traces that they are of: a program's that of its attempt.
func (s *Server) trace(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if !isAPI(r.URL.Path) {
			return next(c)
		}
		program, _ := service.ProgramOf(r.Context())
		ctx, end := s.config.Trace(r.Context(), r.Header, r.Method+" "+c.Path(), program.Run, program.Attempt)
		c.SetRequest(r.WithContext(ctx))
		err := next(c)
		status := c.Response().Status
		if err != nil { // it is answered later
			status = s.problemOf(c, err).Status
		}
		end(status)
		return err
	}
}
