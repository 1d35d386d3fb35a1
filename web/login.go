package web

import (
	"html"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

func (s *Server) login() {
	s.echo.GET("/login", s.loginForm)
	s.echo.POST("/login", s.loginToken)
	s.echo.POST("/logout", s.logout)
}

// loginForm shows the form, or takes the code of a login link.
func (s *Server) loginForm(c echo.Context) error {
	next := localPath(c.QueryParam("next"))
	if s.config.Guard.Off() {
		return c.Redirect(http.StatusSeeOther, next)
	}
	code := c.QueryParam("token")
	if code == "" {
		return s.showLogin(c, LoginPage{Status: http.StatusOK, Next: next})
	}
	if s.config.Codes != nil {
		if name, ok := s.config.Codes.Redeem(code); ok {
			s.config.Guard.Begin(c.Response(), c.Request(), name)
			s.config.Log.Info("logged in by link", "name", name, "remote", c.Request().RemoteAddr)
			return c.Redirect(http.StatusSeeOther, next)
		}
	}
	return s.showLogin(c, LoginPage{
		Status: http.StatusUnauthorized, Next: next,
		Message: "This link has been used, or its time is over. Enter the token instead: it is in the file token of the server's data folder.",
	})
}

// loginToken takes a token from the form.
func (s *Server) loginToken(c echo.Context) error {
	next := localPath(c.FormValue("next"))
	if s.config.Guard.Off() {
		return c.Redirect(http.StatusSeeOther, next)
	}
	if err := s.config.Guard.CheckOrigin(c.Request()); err != nil {
		return s.turnAway(c, err)
	}
	name, ok := s.config.Guard.Verify(c.FormValue("token"))
	if !ok {
		return s.showLogin(c, LoginPage{
			Status: http.StatusUnauthorized, Next: next,
			Message: "This token is not known here. It is in the file token of the server's data folder.",
		})
	}
	s.config.Guard.Begin(c.Response(), c.Request(), name)
	s.config.Log.Info("logged in by token", "name", name, "remote", c.Request().RemoteAddr)
	return c.Redirect(http.StatusSeeOther, next)
}

func (s *Server) logout(c echo.Context) error {
	if err := s.config.Guard.End(c.Response(), c.Request()); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/login")
}

// localPath keeps a redirect on this server.
func localPath(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") || strings.HasPrefix(path, "/login") {
		return "/"
	}
	return path
}

func (s *Server) showLogin(c echo.Context, page LoginPage) error {
	if s.config.LoginPage != nil {
		return s.config.LoginPage(c, page)
	}
	return c.HTML(page.Status, `<!doctype html><html lang="en"><meta charset="utf-8"><title>Log in · Tidewheel</title><h1>Log in to Tidewheel</h1><p>`+
		html.EscapeString(page.Message)+`</p><form method="post" action="/login"><input type="hidden" name="next" value="`+html.EscapeString(page.Next)+
		`"><label>Token <input name="token" type="password" autocomplete="current-password" required></label> <button>Log in</button></form></html>`)
}
