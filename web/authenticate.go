package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/web/api"
	"github.com/tidewheel/tidewheel/web/auth"
	"github.com/tidewheel/tidewheel/web/service"
)

// authenticate lets in who may come in, and says of them who acts.
func (s *Server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if public(r) {
			return next(c)
		}
		if c.Path() == api.EffectRoute {
			return s.admitProgram(c, next)
		}
		if r.URL.Path == metricsPath && s.config.MetricsReaders.Check(r) == nil {
			return next(c)
		}
		name, err := s.config.Guard.Check(c.Response(), r)
		if err == nil {
			admit(r)
			c.SetRequest(r.WithContext(service.WithActor(r.Context(), name)))
			return next(c)
		}
		turnAwayBody(r)
		return s.turnAway(c, err)
	}
}

// public tells what is served to anybody.
func public(r *http.Request) bool {
	switch r.URL.Path {
	case "/livez", "/readyz", "/login", "/favicon.ico", "/schema.json": // editors fetch the schema without a token
		return true
	}
	return strings.HasPrefix(r.URL.Path, "/static/")
}

// turnAway says why somebody may not come in, and how they may.
func (s *Server) turnAway(c echo.Context, err error) error {
	r := c.Request()
	switch {
	case errors.Is(err, auth.ErrCrossSite):
		return api.NewProblem(http.StatusForbidden, "cross_site",
			"the request comes from a page of another site, and may change nothing here: programs send a token, pages use this site's own forms")
	case errors.Is(err, auth.ErrForeignHost):
		return api.NewProblem(http.StatusMisdirectedRequest, "foreign_host",
			"with --auth off this server answers only to localhost and loopback addresses, not to "+r.Host+": use one of them, or turn authentication on")
	}
	if isAPI(r.URL.Path) || r.URL.Path == metricsPath {
		c.Response().Header().Set("WWW-Authenticate", `Bearer realm="tidewheel"`)
		detail := "send a token as Authorization: Bearer TOKEN; the command line takes it from --token or TIDEWHEEL_TOKEN, " +
			"and the server keeps it in the file token of its data folder"
		code := "unauthenticated"
		switch {
		case errors.Is(err, auth.ErrBadToken):
			code, detail = "invalid_token", "this token is not known here: "+detail
			if auth.IsRunToken(r) {
				detail = "a run's token opens the effects of its run and nothing else"
			}
		case r.URL.Path == metricsPath:
			detail = "metrics are read with a token: send that of --metrics-token-file, or the administrator's, as Authorization: Bearer TOKEN, " +
				"or start the server with --metrics-auth off"
		case errors.Is(err, auth.ErrExpired):
			code, detail = "session_expired", "the session is over: log in again at /login, or "+detail
		}
		return api.NewProblem(http.StatusUnauthorized, code, detail)
	}
	target := "/login"
	if back := s.pageOf(r); back != "/" {
		target += "?" + url.Values{"next": {back}}.Encode()
	}
	if r.Header.Get("HX-Request") != "" {
		c.Response().Header().Set("HX-Redirect", target) // a part of a page cannot be redirected
		return c.NoContent(http.StatusUnauthorized)
	}
	return c.Redirect(http.StatusSeeOther, target)
}

// pageOf is the page that a request without a session came from, so that one is led back to it: the page that it asks for,
// or, of a form that was sent and of a part of a page, the page that shows it. "/" where that is not known, or not ours.
func (s *Server) pageOf(r *http.Request) string {
	from := r.Header.Get("HX-Current-URL")
	switch {
	case r.Header.Get("HX-Request") != "":
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return localPath(r.URL.RequestURI())
	default:
		from = r.Header.Get("Referer")
	}
	page, err := url.Parse(from)
	// A proxy may give the server another name than the one that the browser knows.
	if err != nil || page.Host != r.Host && r.Header.Get("Sec-Fetch-Site") != "same-origin" {
		return "/"
	}
	return localPath(page.RequestURI())
}

// isAPI tells what is for programs: its faults are problems, not pages.
func isAPI(path string) bool {
	return strings.HasPrefix(path, "/api/") || path == "/api" || path == api.OneOffPath || path == "/schema.json"
}
