package ui

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) namespaceList(c echo.Context) error { return u.namespaces(c, http.StatusOK, "", "") }

func (u *UI) namespaces(c echo.Context, status int, problem, name string) error {
	ctx := c.Request().Context()
	all, err := u.service.Namespaces(ctx)
	if err != nil {
		return err
	}
	view := templates.Namespaces{Page: u.page(c, "", "Namespaces"), Problem: problem, Name: name}
	identity := access.From(ctx)
	for i := range all {
		role := identity.Grants.In(all[i].Name)
		row := templates.NamespaceRow{Name: all[i].Name, Description: all[i].Description, Role: role.String(), Current: all[i].Name == namespaceOf(ctx)}
		if role >= access.Admin {
			members, err := u.service.Members(ctx, row.Name)
			if err != nil {
				return err
			}
			for _, member := range members {
				row.Members = append(row.Members, templates.NamespaceMember{User: member.User, Role: member.Role.String(), All: member.All})
			}
		}
		view.Rows = append(view.Rows, row)
	}
	return u.render(c, status, templates.NamespacesPage(view))
}

func (u *UI) namespaceCreate(c echo.Context) error {
	name := strings.TrimSpace(c.FormValue("name"))
	_, err := u.service.CreateNamespace(c.Request().Context(), name, c.FormValue("description"))
	var known *service.Error
	if errors.As(err, &known) && (known.Kind == service.KindInvalid || known.Kind == service.KindExists) {
		return u.namespaces(c, http.StatusUnprocessableEntity, sentence(known.Detail), name)
	}
	if err != nil {
		return err
	}
	return done(c, "/namespaces", "namespace-created")
}
