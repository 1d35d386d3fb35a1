package ui

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	namespaceCookie = "tidewheel_namespace"
	namespaceKept   = 365 * 24 * time.Hour
)

type namespaceKey struct{}

// namespaceOf returns the namespace whose jobs, DAGs, runs and binaries a page shows and changes.
func namespaceOf(ctx context.Context) string {
	if name, chosen := ctx.Value(namespaceKey{}).(string); chosen {
		return name
	}
	return engine.DefaultNamespace
}

// inNamespace lets a page show the namespace that the reader has chosen.
func inNamespace(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if cookie, err := c.Cookie(namespaceCookie); err == nil && spec.ValidName("namespace", cookie.Value) == nil {
			request := c.Request()
			c.SetRequest(request.WithContext(context.WithValue(request.Context(), namespaceKey{}, cookie.Value)))
		}
		return next(c)
	}
}

// namespaceChoose keeps the choice in a cookie and leads to the overview: the page that it was made on may be of
// something that the other namespace has not.
func (u *UI) namespaceChoose(c echo.Context) error {
	name := c.FormValue("namespace")
	if name == "" {
		name = engine.DefaultNamespace
	}
	if err := spec.ValidName("namespace", name); err != nil {
		return &service.Error{Kind: service.KindInvalid, Code: "invalid_namespace", Detail: err.Error()}
	}
	cookie := &http.Cookie{Name: namespaceCookie, Value: name, Path: "/", MaxAge: int(namespaceKept / time.Second), HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: c.IsTLS()}
	if name == engine.DefaultNamespace {
		cookie.MaxAge = -1
	}
	c.SetCookie(cookie)
	return c.Redirect(http.StatusSeeOther, "/")
}

// scoped is a router whose pages are of the namespace that the reader has chosen.
type scoped struct{ router Router }

func (s scoped) GET(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	return s.router.GET(path, h, append(m, inNamespace)...)
}

func (s scoped) POST(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	return s.router.POST(path, h, append(m, inNamespace)...)
}
