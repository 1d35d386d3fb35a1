package web

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/api"
)

const (
	namespaceCookie = "tidewheel_namespace"
	namespaceKept   = 365 * 24 * time.Hour
)

// namespaceOfRequest returns the namespace that a request is about. Where the rule does not ask for a role in it, it is "" unless the
// identity may read it.
func (s *Server) namespaceOfRequest(c echo.Context, rule rule) (string, error) {
	if rule.scope == inTheNamedOne {
		return c.Param("name"), nil
	}
	name, err := s.namespaceAsked(c, rule)
	if rule.scope != inTheNamespace && (err != nil || s.config.Service.EnterNamespace(c.Request().Context(), name) != nil) {
		return "", nil
	}
	return name, err
}

// namespaceAsked is what the query names; on pages otherwise what the reader has chosen; else the default one.
func (s *Server) namespaceAsked(c echo.Context, rule rule) (string, error) {
	r := c.Request()
	switch named := r.URL.Query()["namespace"]; {
	case len(named) > 1:
		return "", api.NewProblem(http.StatusBadRequest, "invalid_request", "the query parameter namespace is given more than once: give it once")
	case len(named) == 1 && named[0] != "":
		return named[0], nil
	case isAPI(r.URL.Path):
		return engine.DefaultNamespace, nil
	}
	return s.chosenNamespace(c, rule)
}

// chosenNamespace returns the namespace that the reader of the pages has chosen, or the first one in which they have a role.
func (s *Server) chosenNamespace(c echo.Context, rule rule) (string, error) {
	r := c.Request()
	chosen, given := engine.DefaultNamespace, false
	if cookie, err := c.Cookie(namespaceCookie); err == nil && spec.ValidName("namespace", cookie.Value) == nil {
		chosen, given = cookie.Value, true
	}
	// A page, what refreshes it and what it changes are about the namespace that was chosen, and no other.
	if rule.scope == inTheNamespace && (r.Method != http.MethodGet || r.Header.Get("HX-Request") != "" || given && c.Path() != "/") {
		return chosen, nil
	}
	if s.config.Service.EnterNamespace(r.Context(), chosen) == nil {
		return chosen, nil
	}
	mine, err := s.config.Service.Namespaces(r.Context())
	switch {
	case err != nil:
		return "", err
	case len(mine) > 0:
		return mine[0].Name, nil
	case rule.scope == inTheNamespace:
		return "", noRole()
	}
	return "", nil
}

// keepNamespace keeps the namespace of a page that names it, so that the links of the page stay in it.
func keepNamespace(c echo.Context, namespace string) {
	r := c.Request()
	if r.Method != http.MethodGet || isAPI(r.URL.Path) || r.Header.Get("HX-Request") != "" {
		return
	}
	chosen := engine.DefaultNamespace
	if cookie, err := c.Cookie(namespaceCookie); err == nil {
		chosen = cookie.Value
	}
	if namespace != "" && chosen != namespace {
		chooseNamespace(c, namespace)
	}
}

func chooseNamespace(c echo.Context, name string) {
	cookie := &http.Cookie{ //nolint:gosec // as the session, it is secure where TLS is spoken
		Name: namespaceCookie, Value: name, Path: "/", MaxAge: int(namespaceKept / time.Second), HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: c.Scheme() == "https",
	}
	if name == engine.DefaultNamespace {
		cookie.MaxAge = -1
	}
	c.SetCookie(cookie)
}

// switchNamespace keeps the choice in a cookie and leads to the overview: the page that it was made on may be of something that the
// other namespace has not.
func (s *Server) switchNamespace(c echo.Context) error {
	name := c.FormValue("namespace")
	if name == "" {
		name = engine.DefaultNamespace
	}
	if err := s.config.Service.EnterNamespace(c.Request().Context(), name); err != nil {
		return err
	}
	chooseNamespace(c, name)
	return c.Redirect(http.StatusSeeOther, "/")
}
