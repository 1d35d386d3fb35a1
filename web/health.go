package web

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/api"
)

const metricsPath = "/metrics"

// readyTime is how long the parts may take to answer.
const readyTime = 3 * time.Second

// health registers the endpoints that report the server's own state.
func (s *Server) health() {
	s.echo.GET("/livez", s.live)
	s.echo.GET("/readyz", s.ready)
	s.echo.GET("/schema.json", func(c echo.Context) error {
		return c.Blob(http.StatusOK, "application/schema+json", spec.Schema())
	})
	if s.config.Metrics != nil {
		s.echo.GET(metricsPath, echo.WrapHandler(s.config.Metrics))
	}
}

// live reports whether the process makes progress, and why not.
func (s *Server) live(c echo.Context) error {
	if err := s.config.Live(); err != nil {
		return c.String(http.StatusServiceUnavailable, err.Error()+"\n")
	}
	return c.String(http.StatusOK, "ok\n")
}

// ready reports whether the server can do its work, and which part is down if not.
func (s *Server) ready(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), readyTime)
	defer cancel()
	if s.stopping.Err() != nil {
		return c.String(http.StatusServiceUnavailable, ErrStopping.Error()+"\n")
	}
	if err := s.config.Ready(ctx); err != nil {
		if problem, ok := api.ProblemOf(err); ok {
			return c.String(http.StatusServiceUnavailable, problem.Detail+"\n")
		}
		return c.String(http.StatusServiceUnavailable, err.Error()+"\n")
	}
	if slow := s.config.Slow(); slow != "" { // it does its work, late: to take it out of the way would not help
		return c.String(http.StatusOK, "ok, but "+slow+"\n")
	}
	return c.String(http.StatusOK, "ok\n")
}
