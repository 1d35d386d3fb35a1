package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/web/api"
	"github.com/tidewheel/tidewheel/web/auth"
)

// authenticate lets in who may come in, and says of them who acts.
func (s *Server) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		switch rule := ruleOf(c); {
		case rule.scope == toAll:
			if r.URL.Path == "/login" || strings.HasPrefix(r.URL.Path, oidcPath) || r.Method == http.MethodPost {
				if err := s.boundAddress(c); err != nil {
					return err
				}
			}
			if strings.HasPrefix(r.URL.Path, api.HookPrefix) {
				admitPayload(r)
			}
			return next(c)
		case rule.scope == toPrograms:
			return s.admitProgram(c, next)
		case rule.scope == toCollectors && s.config.MetricsReaders.Check(r) == nil:
			return next(c)
		}
		identity, err := s.identify(r)
		if err == nil {
			if err := s.boundIdentity(c, identity); err != nil {
				return err
			}
			admit(r)
			identity.Address = addressOf(r)
			c.SetRequest(r.WithContext(access.With(r.Context(), identity)))
			return next(c)
		}
		if err := s.boundAddress(c); err != nil {
			return err
		}
		turnAwayBody(r)
		return s.turnAway(c, err)
	}
}

// turnsAway reports whether credentials are known to open nothing.
func turnsAway(err error) bool {
	for _, known := range []error{auth.ErrNoCredentials, access.ErrNoSession, access.ErrNoToken, access.ErrTokenExpired, auth.ErrCrossSite, auth.ErrForeignHost} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// turnAway refuses a request without valid credentials: it says why, and how to log in.
func (s *Server) turnAway(c echo.Context, err error) error {
	r := c.Request()
	switch {
	case errors.Is(err, auth.ErrCrossSite):
		return api.NewProblem(http.StatusForbidden, "cross_site",
			"the request comes from a page of another site, and may change nothing here: programs send a token, pages use this site's own forms")
	case errors.Is(err, auth.ErrForeignHost):
		return api.NewProblem(http.StatusMisdirectedRequest, "foreign_host",
			"with --auth off this server answers only to localhost and loopback addresses, not to "+r.Host+": use one of them, or turn authentication on")
	case !turnsAway(err):
		return s.undecided(c, err)
	}
	if isAPI(r.URL.Path) || r.URL.Path == metricsPath {
		c.Response().Header().Set("WWW-Authenticate", `Bearer realm="tidewheel"`)
		detail := "send a token as Authorization: Bearer TOKEN; the command line takes it from --token or TIDEWHEEL_TOKEN, " +
			"and the server keeps it in the file token of its data folder"
		code := "unauthenticated"
		switch {
		case errors.Is(err, access.ErrNoToken):
			code, detail = "invalid_token", "this token is not known here: "+detail
			if auth.IsRunToken(r) {
				detail = "a run's token opens the effects of its run and nothing else"
			}
		case r.URL.Path == metricsPath:
			detail = "metrics are read with a token: send that of --metrics-token-file, or the root token, as Authorization: Bearer TOKEN, " +
				"or start the server with --metrics-auth off"
		case errors.Is(err, access.ErrTokenExpired):
			code, detail = "token_expired", "this token has expired: make a new one with `tidewheel token create`"
		case errors.Is(err, access.ErrNoSession):
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

// undecided answers a request whose user the store could not look up. That is no reason to log in again.
func (s *Server) undecided(c echo.Context, err error) error {
	if _, known := api.ProblemOf(err); known || c.Request().Context().Err() != nil {
		return err
	}
	s.config.Log.Error("it cannot be seen who makes a request", "request_id", RequestID(c.Request().Context()), "error", err)
	return api.NewProblem(http.StatusServiceUnavailable, "unavailable",
		"the store does not answer, so it cannot be seen who you are: try again; `tidewheel doctor` says what is wrong")
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

// isAPI reports whether a request is for the API: its faults are problems, not pages.
func isAPI(path string) bool {
	return strings.HasPrefix(path, "/api/") || path == "/api" || path == api.OneOffPath || path == "/schema.json"
}
