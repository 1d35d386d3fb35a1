package ui

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/templates"
)

func (u *UI) userShow(c echo.Context) error { return u.userPage(c, http.StatusOK, "") }

func (u *UI) userPage(c echo.Context, status int, problem string) error {
	ctx := c.Request().Context()
	user, err := u.service.User(ctx, c.Param("name"))
	if err != nil {
		return err
	}
	view := templates.User{Page: u.page(c, templates.SectionUsers, user.Name), User: userRow(&user), Problem: problem}
	view.Page.Trail = []templates.Crumb{{Name: "Users", Href: templates.UsersPath}, {Name: user.Name}}
	view.Namespaces = view.Page.Namespaces
	if view.Sessions, err = u.sessionRows(ctx, user.Name); err != nil {
		return err
	}
	tokens, err := u.service.Tokens(ctx, true)
	if err != nil {
		return err
	}
	var own []access.Token
	for i := range tokens {
		if tokens[i].Owner == user.Name {
			own = append(own, tokens[i])
		}
	}
	view.Tokens = tokenRows(own)
	return u.render(c, status, templates.UserPage(view))
}

// userChanged answers a change of a user: their page, with why it was refused or that it was done.
func (u *UI) userChanged(c echo.Context, err error, notice string) error {
	if text, status, is := formProblem(err); is {
		return u.userPage(c, status, text)
	}
	if err != nil {
		return err
	}
	return done(c, templates.UserPath(c.Param("name"), ""), notice)
}

func (u *UI) userRole(c echo.Context) error {
	ctx, namespace := c.Request().Context(), c.FormValue("namespace")
	if c.FormValue("remove") != "" {
		return u.userChanged(c, u.service.RemoveMember(ctx, namespace, c.Param("name")), "role-removed")
	}
	_, err := u.service.SetMember(ctx, namespace, c.Param("name"), c.FormValue("role"))
	return u.userChanged(c, err, "role-given")
}

func (u *UI) userPassword(c echo.Context) error {
	password := c.FormValue("password")
	_, err := u.service.ChangeUser(c.Request().Context(), c.Param("name"), access.UserChange{Password: &password}, "")
	return u.userChanged(c, err, "password-set")
}

func (u *UI) userDisable(c echo.Context, disable bool, notice string) error {
	_, err := u.service.ChangeUser(c.Request().Context(), c.Param("name"), access.UserChange{Disabled: &disable}, "")
	return u.userChanged(c, err, notice)
}

func (u *UI) userDelete(c echo.Context) error {
	err := u.service.DeleteUser(c.Request().Context(), c.Param("name"))
	if text, status, is := formProblem(err); is {
		return u.userPage(c, status, text)
	}
	if err != nil {
		return err
	}
	return done(c, templates.UsersPath, "user-deleted")
}

func (u *UI) userSessionEnd(c echo.Context) error {
	return u.userChanged(c, u.service.EndSession(c.Request().Context(), c.Param("name"), c.Param("id")), "session-ended")
}

func (u *UI) userTokenRevoke(c echo.Context) error {
	return u.userChanged(c, u.service.RevokeToken(c.Request().Context(), c.Param("id")), "token-revoked")
}
