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
		usage, err := u.service.UsageOf(ctx, row.Name)
		if err != nil {
			return err
		}
		row.Usage = quotaUse(&all[i].Quota, &usage)
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

// quotaUse puts the use of a namespace beside its quota. What has neither is left out.
func quotaUse(quota *access.Quota, usage *service.Usage) (uses []templates.QuotaUse) {
	type counted struct {
		what        string
		used, bound int64
		words       func(int64) string
	}
	all := []counted{{"Jobs and DAGs", usage.Jobs, quota.Jobs, templates.Grouped}}
	if usage.Runs != nil {
		all = append(all, counted{"Queued", int64(usage.Runs.Waiting), quota.Queued, templates.Grouped},
			counted{"Running", int64(usage.Runs.Running), quota.Running, templates.Grouped})
	}
	for _, one := range append(all, counted{"Stored", usage.StoredBytes, quota.StoredBytes, templates.Size}) {
		if one.used == 0 && one.bound == 0 {
			continue
		}
		use := templates.QuotaUse{What: one.what, Used: one.words(one.used)}
		if one.bound > 0 {
			use.Bound, use.Share = one.words(one.bound), int(100*min(one.used, one.bound)/one.bound)
		}
		uses = append(uses, use)
	}
	if quota.SubmitsPerSecond > 0 {
		uses = append(uses, templates.QuotaUse{What: "Runs asked for", Used: "at most " + templates.Grouped(quota.SubmitsPerSecond) + " a second"})
	}
	return uses
}
