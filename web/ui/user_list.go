package ui

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/templates"
)

const (
	usersPerPage = 50
	// usersRead is how many users a search reads at once.
	usersRead = 500
)

func (u *UI) userRoutes(router Router) {
	router.GET(templates.UsersPath, u.userList)
	router.POST(templates.UsersPath, u.userCreate)
	router.GET("/users/:name", u.userShow)
	router.POST("/users/:name/role", u.userRole)
	router.POST("/users/:name/password", u.userPassword)
	router.POST("/users/:name/disable", func(c echo.Context) error { return u.userDisable(c, true, "user-disabled") })
	router.POST("/users/:name/enable", func(c echo.Context) error { return u.userDisable(c, false, "user-enabled") })
	router.POST("/users/:name/delete", u.userDelete)
	router.POST("/users/:name/sessions/:id/end", u.userSessionEnd)
	router.POST("/users/:name/tokens/:id/revoke", u.userTokenRevoke)
}

func (u *UI) userList(c echo.Context) error {
	return u.usersPage(c, http.StatusOK, "", templates.UserForm{})
}

func (u *UI) usersPage(c echo.Context, status int, problem string, form templates.UserForm) error {
	cursor, text := c.QueryParam("cursor"), access.PlainName(c.QueryParam("q"))
	users, next, err := u.usersNamed(c.Request().Context(), cursor, text)
	if err != nil {
		return err
	}
	view := templates.Users{Page: u.page(c, templates.SectionUsers, "Users"), Text: text, Problem: problem, Form: form, Pager: pager(c, cursor, next)}
	view.Form.Namespaces = view.Page.Namespaces
	for i := range users {
		view.Rows = append(view.Rows, userRow(&users[i]))
	}
	return u.render(c, status, templates.UsersPage(view))
}

// usersNamed lists a page of the users whose names contain a text.
func (u *UI) usersNamed(ctx context.Context, cursor, text string) (found []access.User, next string, err error) {
	for {
		users, after, err := u.service.Users(ctx, cursor, usersRead)
		if err != nil {
			return nil, "", err
		}
		for i := range users {
			if !strings.Contains(users[i].Name, text) {
				continue
			}
			if len(found) == usersPerPage {
				return found, found[len(found)-1].Name, nil
			}
			found = append(found, users[i])
		}
		if after == "" {
			return found, "", nil
		}
		cursor = after
	}
}

func userRow(user *access.User) templates.UserRow {
	return templates.UserRow{
		Name: user.Name, From: user.From, By: user.CreatedBy, Grants: grantRows(user.Grants), Disabled: user.Disabled,
		Created: user.CreatedAt, Last: user.LastLogin,
	}
}

func (u *UI) userCreate(c echo.Context) error {
	form := templates.UserForm{Name: strings.TrimSpace(c.FormValue("name")), Role: c.FormValue("role"), Namespace: c.FormValue("namespace")}
	grants, err := grantOf(form.Namespace, form.Role)
	name := ""
	if err == nil {
		var user access.User
		user, err = u.service.CreateUser(c.Request().Context(), form.Name, c.FormValue("password"), grants)
		name = user.Name
	}
	if text, status, is := formProblem(err); is {
		return u.usersPage(c, status, text, form)
	}
	if err != nil {
		return err
	}
	return done(c, templates.UserPath(name, ""), "user-added")
}
