package main

import (
	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/static"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web"
	"github.com/tidewheel/tidewheel/web/ui"
)

// addPages puts the pages into the configuration of the HTTP server.
func (s *Server) addPages(config *web.Config) {
	pages := ui.New(s.service, ui.Config{
		Version: version, SignOut: s.config.Auth, Open: !s.config.Auth, MaxBinary: int64(s.config.MaxBinary),
		PublicURL: s.config.PublicURL, TraceURL: s.config.TraceURL,
		Parts: s.aboutParts(), Kept: s.config.keptFor(),
	})
	config.Pages = func(router *echo.Echo, openAPI []byte) { pages.Register(router, openAPI) }
	config.LoginPage = func(c echo.Context, page web.LoginPage) error {
		login := templates.Login{Problem: page.Message, Next: page.Next, Users: page.Users}
		if page.Issuer != nil {
			login.Issuer = &templates.LoginIssuer{Name: page.Issuer.Name, Path: page.Issuer.Path, Away: page.Issuer.Away}
		}
		return pages.Login(c, page.Status, login)
	}
	config.WelcomePage = func(c echo.Context, page web.WelcomePage) error {
		return pages.Welcome(c, page.Status, page.Message, page.Name, page.Next)
	}
	config.ErrorPage = func(c echo.Context, page web.ErrorPage) error {
		return pages.Failure(c, page.Status, page.Title, page.Detail, page.RequestID)
	}
	if !static.Built() {
		s.log.Warn("the pages have no styles and no scripts: build with `make build`, which bundles them")
	}
}
