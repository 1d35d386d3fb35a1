package ui

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/secret"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	secretsPerPage = 50
	// secretUsersLooked is how many definitions a list of secrets looks at to tell who uses them.
	secretUsersLooked = 20_000
)

func (u *UI) secretRoutes(router Router) {
	router.GET(templates.SecretsPath, u.secretList)
	router.POST(templates.SecretsPath, u.secretSet)
	router.GET(templates.SecretsPath+"/:name/delete", u.secretDeleteForm)
	router.POST(templates.SecretsPath+"/:name/delete", u.secretDelete)
}

func (u *UI) secretList(c echo.Context) error {
	return u.secretsPage(c, http.StatusOK, c.QueryParam("name"), "")
}

func (u *UI) secretsPage(c echo.Context, status int, name, problem string) error {
	ctx, cursor := c.Request().Context(), c.QueryParam("cursor")
	secrets, next, err := u.service.Secrets(ctx, namespaceOf(ctx), cursor, secretsPerPage)
	if err != nil {
		return err
	}
	view := templates.Secrets{Page: u.page(c, templates.SectionSecrets, "Secrets"), Pager: pager(c, cursor, next), Name: name, Problem: problem}
	var users map[string][]string
	if len(secrets) > 0 {
		if users, view.More, err = u.service.SecretUsers(ctx, namespaceOf(ctx), secretUsersLooked); err != nil {
			return err
		}
	}
	for i := range secrets {
		view.Rows = append(view.Rows, secretRow(&secrets[i], users))
	}
	return u.render(c, status, templates.SecretsPage(view))
}

func secretRow(s *secret.Secret, users map[string][]string) templates.SecretRow {
	return templates.SecretRow{Name: s.Name, Version: s.Version, By: s.UpdatedBy, At: s.UpdatedAt, Users: users[s.Name]}
}

func (u *UI) secretSet(c echo.Context) error {
	ctx, name := c.Request().Context(), c.FormValue("name")
	_, _, err := u.service.SetSecret(ctx, namespaceOf(ctx), name, []byte(c.FormValue("value")), service.Actor(ctx))
	var known *service.Error
	switch {
	case errors.As(err, &known) && known.Kind == service.KindInvalid:
		return u.secretsPage(c, http.StatusUnprocessableEntity, name, known.Detail)
	case errors.As(err, &known) && known.Kind == service.KindConflict:
		return u.secretsPage(c, http.StatusConflict, name, known.Detail)
	case err != nil:
		return err
	}
	return done(c, templates.SecretsPath, "secret-set")
}

func (u *UI) secretDeleteForm(c echo.Context) error {
	ctx := c.Request().Context()
	found, err := u.service.Secret(ctx, namespaceOf(ctx), c.Param("name"))
	if err != nil {
		return err
	}
	users, _, err := u.service.SecretUsers(ctx, namespaceOf(ctx), 0)
	if err != nil {
		return err
	}
	page := u.page(c, templates.SectionSecrets, "Delete "+found.Name)
	page.Trail = []templates.Crumb{{Name: "Secrets", Href: templates.SecretsPath}, {Name: "Delete"}}
	return u.render(c, http.StatusOK, templates.SecretDeletePage(templates.SecretDelete{Page: page, Secret: secretRow(&found, users)}))
}

func (u *UI) secretDelete(c echo.Context) error {
	ctx := c.Request().Context()
	err := u.service.DeleteSecret(ctx, namespaceOf(ctx), c.Param("name"), service.Actor(ctx), c.FormValue("force") == "true")
	if err != nil {
		return err
	}
	return done(c, templates.SecretsPath, "secret-deleted")
}
