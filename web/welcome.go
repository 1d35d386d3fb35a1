package web

import (
	"errors"
	"html"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/web/service"
)

// WelcomePage is where the link of the first start leads: it makes the first admin.
type WelcomePage struct {
	Status  int
	Message string // why the last try failed, or ""
	Name    string // as it was typed
	Next    string // where "Not now" leads; a path of this server
}

func welcomeQuery(next string) string {
	if next == "/" {
		return ""
	}
	return "?" + url.Values{"next": {next}}.Encode()
}

// welcomes reports whether the first admin can be made here: with the root token's session, and while there is none.
func (s *Server) welcomes(c echo.Context) (bool, error) {
	if access.From(c.Request().Context()).Kind != access.KindRoot {
		return false, nil
	}
	admin, err := s.config.Service.Access.HasAdmin(c.Request().Context())
	return !admin, err
}

func (s *Server) welcomeForm(c echo.Context) error {
	next := localPath(c.QueryParam("next"))
	if open, err := s.welcomes(c); err != nil {
		return s.undecided(c, err)
	} else if !open {
		return c.Redirect(http.StatusSeeOther, next)
	}
	return s.showWelcome(c, WelcomePage{Status: http.StatusOK, Next: next})
}

// welcomeSend makes the first admin, and continues as them.
func (s *Server) welcomeSend(c echo.Context) error {
	page := WelcomePage{Status: http.StatusUnprocessableEntity, Name: c.FormValue("name"), Next: localPath(c.FormValue("next"))}
	if open, err := s.welcomes(c); err != nil {
		return s.undecided(c, err)
	} else if !open {
		return c.Redirect(http.StatusSeeOther, page.Next)
	}
	if c.FormValue("password") != c.FormValue("again") {
		page.Message = "The two passwords differ. Type the same one twice."
		return s.showWelcome(c, page)
	}
	ctx, directory := c.Request().Context(), s.config.Service.Access
	_, err := s.config.Service.CreateUser(ctx, page.Name, c.FormValue("password"), access.Grants{access.Everywhere: access.Admin})
	var known *service.Error
	if errors.As(err, &known) && (known.Kind == service.KindInvalid || known.Kind == service.KindExists) {
		page.Message = known.Detail
		return s.showWelcome(c, page)
	}
	if err != nil {
		return err
	}
	admin, err := directory.SignIn(ctx, page.Name)
	if err == nil {
		err = s.config.Guard.End(c.Response(), c.Request(), access.From(ctx))
	}
	if err != nil {
		return err
	}
	return s.signIn(c, admin, "as the first admin", page.Next)
}

func (s *Server) showWelcome(c echo.Context, page WelcomePage) error {
	if s.config.WelcomePage != nil {
		return s.config.WelcomePage(c, page)
	}
	return c.HTML(page.Status, `<!doctype html><html lang="en"><meta charset="utf-8"><title>Welcome · Tidewheel</title><h1>Make the first admin</h1><p>`+
		html.EscapeString(page.Message)+`</p><form method="post" action="/welcome"><input type="hidden" name="next" value="`+html.EscapeString(page.Next)+
		`"><label>Name <input name="name" required value="`+html.EscapeString(page.Name)+
		`"></label> <label>Password <input name="password" type="password" required></label>`+
		` <label>Again <input name="again" type="password" required></label> <button>Create</button></form><a href="`+html.EscapeString(page.Next)+`">Not now</a></html>`)
}
