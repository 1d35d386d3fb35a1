package web

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/web/api"
	"github.com/tidewheel/tidewheel/web/auth"
	"github.com/tidewheel/tidewheel/web/service"
)

// admitProgram lets in a running program, by its run token, to the routes for programs; other callers are refused there. It
// is asked by the route that the request was given to, so that a path in disguise leads nowhere else.
func (s *Server) admitProgram(c echo.Context, next echo.HandlerFunc) error {
	r := c.Request()
	program, err := s.config.RunTokens.Check(r)
	if err == nil {
		identity := access.Identity{Kind: access.KindRun, Name: "run " + program.Run}
		if err := s.boundIdentity(c, identity); err != nil {
			return err
		}
		admit(r)
		ctx := access.With(service.WithProgram(r.Context(), program), identity)
		c.SetRequest(r.WithContext(ctx))
		return next(c)
	}
	if err := s.boundAddress(c); err != nil {
		return err
	}
	turnAwayBody(r)
	c.Response().Header().Set("WWW-Authenticate", `Bearer realm="tidewheel effects"`)
	const how = "a running program sends what it finds in TIDEWHEEL_RUN_TOKEN, as Authorization: Bearer TOKEN"
	switch {
	case errors.Is(err, auth.ErrExpired):
		return api.NewProblem(http.StatusUnauthorized, "run_token_expired", "this run's token has expired: it is good until shortly after the attempt's deadline")
	case errors.Is(err, auth.ErrBadToken):
		return api.NewProblem(http.StatusUnauthorized, "invalid_run_token", "this is no run's token of this server: "+how)
	}
	return api.NewProblem(http.StatusUnauthorized, "unauthenticated", "effects are opened by the run that they are of: "+how)
}
