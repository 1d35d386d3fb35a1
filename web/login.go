package web

import (
	"errors"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/audit"
	"github.com/tidewheel/tidewheel/web/issuer"
)

func (s *Server) login() {
	s.echo.GET("/login", s.loginForm)
	s.echo.POST("/login", s.loginSend)
	s.echo.GET(oidcPath, s.oidcBegin)
	s.echo.GET(issuer.CallbackPath, s.oidcEnd)
	s.echo.POST("/logout", s.logout)
	s.echo.GET("/welcome", s.welcomeForm)
	s.echo.POST("/welcome", s.welcomeSend)
}

// loginForm shows the form, or takes the code of the link of the first start.
func (s *Server) loginForm(c echo.Context) error {
	next := localPath(c.QueryParam("next"))
	if s.config.Guard.Off() {
		return c.Redirect(http.StatusSeeOther, next)
	}
	page := LoginPage{Status: http.StatusOK, Next: next}
	admin, err := s.config.Service.Access.HasAdmin(c.Request().Context())
	if err != nil {
		return s.undecided(c, err)
	}
	page.Users = admin
	code := c.QueryParam("token")
	if code == "" {
		return s.showLogin(c, page)
	}
	page.Status = http.StatusUnauthorized
	switch {
	case admin:
		page.Message = "This link was for the first admin, and there is one. Sign in with your name and password."
	case s.config.Codes == nil || !s.config.Codes.Redeem(code):
		page.Message = "This link has been used, or its time is over. Enter the token instead: it is in the file token of the server's data folder."
	default:
		return s.signIn(c, s.config.Service.Access.Root(), "with the link of the first start", "/welcome"+welcomeQuery(next))
	}
	return s.showLogin(c, page)
}

// loginSend takes a name with a password, or a token.
func (s *Server) loginSend(c echo.Context) error {
	next := localPath(c.FormValue("next"))
	if s.config.Guard.Off() {
		return c.Redirect(http.StatusSeeOther, next)
	}
	if err := s.config.Guard.CheckOrigin(c.Request()); err != nil {
		return s.turnAway(c, err)
	}
	ctx, directory, address := c.Request().Context(), s.config.Service.Access, addressOf(c.Request())
	page := LoginPage{Status: http.StatusUnauthorized, Next: next}
	var (
		identity  access.Identity
		err       error
		how       = "with a password"
		throttled *access.ThrottledError
	)
	token, name, password := strings.TrimSpace(c.FormValue("token")), c.FormValue("name"), c.FormValue("password")
	switch {
	case token != "":
		how = "with a token"
		identity, err = directory.LoginByToken(ctx, token, address)
		page.Message = "This token is not known here. The server's own is in the file token of its data folder."
		if errors.Is(err, access.ErrTokenExpired) {
			page.Message = "This token has expired. Sign in with your name and password, or ask an admin."
		}
	case name == "" || password == "":
		err = access.ErrLogin
		page.Message = "Enter your name and password, or a token."
	default:
		identity, err = directory.Login(ctx, name, password, address)
		page.Message = "There is no user with this name and password. Check both; an admin can set a new password."
	}
	switch {
	case err == nil:
		return s.signIn(c, identity, how, next)
	case errors.As(err, &throttled):
		page.Status = http.StatusTooManyRequests
		page.Message = "There were too many failed logins. Try again in " + strconv.Itoa(throttled.Seconds()) + " seconds."
		c.Response().Header().Set("Retry-After", strconv.Itoa(throttled.Seconds()))
	case errors.Is(err, access.ErrLogin), errors.Is(err, access.ErrNoToken), errors.Is(err, access.ErrTokenExpired):
		s.recordLogin(c, "", http.StatusUnauthorized, "login "+how)
		s.config.Log.Info("a login failed", "how", how, "remote", address) // without the name: people type passwords there
	default:
		return s.undecided(c, err)
	}
	admin, err := directory.HasAdmin(ctx)
	page.Users = admin || err != nil // why the login failed is the better answer than that this is not known
	return s.showLogin(c, page)
}

// signIn begins a session of an identity and leads on.
func (s *Server) signIn(c echo.Context, identity access.Identity, how, next string) error {
	if err := s.config.Guard.Begin(c.Response(), c.Request(), identity, addressOf(c.Request())); err != nil {
		return s.undecided(c, err)
	}
	s.recordLogin(c, identity.Name, http.StatusSeeOther, "login "+how)
	s.config.Log.Info("logged in", "name", identity.Name, "how", how, "remote", c.Request().RemoteAddr)
	return c.Redirect(http.StatusSeeOther, next)
}

// recordLogin puts a login into the audit log; by is "" for one that failed.
func (s *Server) recordLogin(c echo.Context, by string, status int, what string) {
	r := c.Request()
	s.appendEntry(r.Context(), audit.Entry{
		At: time.Now(), By: by, Remote: addressOf(r), RequestID: RequestID(r.Context()), Agent: r.UserAgent(),
		Action: r.Method + " /login", Target: "/login", Outcome: outcomeOf(status), Status: status, Changes: []audit.Change{{What: what}},
	})
}

func (s *Server) logout(c echo.Context) error {
	if err := s.config.Guard.End(c.Response(), c.Request(), access.From(c.Request().Context())); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/login")
}

// localPath keeps a redirect on this server.
func localPath(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "\\\r\n\t") ||
		strings.HasPrefix(path, "/login") || strings.HasPrefix(path, "/welcome") {
		return "/"
	}
	return path
}

func (s *Server) showLogin(c echo.Context, page LoginPage) error {
	page.Issuer = s.issuerButton(page.Next)
	if s.config.LoginPage != nil {
		return s.config.LoginPage(c, page)
	}
	return c.HTML(page.Status, `<!doctype html><html lang="en"><meta charset="utf-8"><title>Log in · Tidewheel</title><h1>Log in to Tidewheel</h1><p>`+
		html.EscapeString(page.Message)+`</p><form method="post" action="/login"><input type="hidden" name="next" value="`+html.EscapeString(page.Next)+
		`"><label>Name <input name="name" autocomplete="username"></label> <label>Password <input name="password" type="password" autocomplete="current-password"></label>`+
		` <label>or token <input name="token" type="password" autocomplete="off"></label> <button>Log in</button></form></html>`)
}
