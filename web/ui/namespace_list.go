package ui

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) namespaceList(c echo.Context) error {
	return u.namespaces(c, http.StatusOK, templates.Namespaces{}, "")
}

// namespaces shows the page with what a form left in view: why the last namespace was not made, or the last change of members of
// the one that is named.
func (u *UI) namespaces(c echo.Context, status int, view templates.Namespaces, changed string) error {
	ctx := c.Request().Context()
	all, err := u.service.Namespaces(ctx)
	if err != nil {
		return err
	}
	view.Page = u.page(c, templates.SectionNamespaces, "Namespaces")
	problem := view.Problem
	if changed != "" {
		view.Problem = ""
	}
	identity := access.From(ctx)
	for i := range all {
		role := identity.Grants.In(all[i].Name)
		row := templates.NamespaceRow{Name: all[i].Name, Description: all[i].Description, Role: role.String(), Current: all[i].Name == namespaceOf(ctx)}
		usage, err := u.service.UsageOf(ctx, row.Name)
		if err != nil {
			return err
		}
		row.Usage = quotaUse(&all[i].Quota, &usage)
		if keep := all[i].Retention; keep != (spec.Retention{}) {
			row.Usage = append(row.Usage, templates.QuotaUse{What: "History kept", Used: keep.String()})
		}
		if row.Name == changed {
			row.Problem = problem
		}
		if row.Admin = role >= access.Admin; row.Admin {
			members, err := u.service.Members(ctx, row.Name)
			if err != nil {
				return err
			}
			for _, member := range members {
				row.Members = append(row.Members, templates.NamespaceMember{User: member.User, Role: member.Role.String(), All: member.All, From: member.From})
			}
		}
		view.Rows = append(view.Rows, row)
	}
	return u.render(c, status, templates.NamespacesPage(view))
}

func (u *UI) namespaceCreate(c echo.Context) error {
	name := strings.TrimSpace(c.FormValue("name"))
	_, err := u.service.CreateNamespace(c.Request().Context(), name, c.FormValue("description"))
	if text, _, is := formProblem(err); is {
		return u.namespaces(c, http.StatusUnprocessableEntity, templates.Namespaces{Problem: text, Name: name}, "")
	}
	if err != nil {
		return err
	}
	return done(c, "/namespaces", "namespace-created")
}

// namespaceMember gives a user a role in a namespace, or removes it.
func (u *UI) namespaceMember(c echo.Context) error {
	ctx, name, user := c.Request().Context(), c.Param("name"), c.FormValue("user")
	var err error
	notice := "role-given"
	if c.FormValue("remove") != "" || c.FormValue("role") == "none" {
		notice, err = "role-removed", u.service.RemoveMember(ctx, name, user)
	} else {
		_, err = u.service.SetMember(ctx, name, user, c.FormValue("role"))
	}
	if errors.Is(err, engine.ErrNotFound) {
		err = &service.Error{Kind: service.KindInvalid, Detail: "there is no user " + strconv.Quote(user) + ": an admin for all namespaces adds users"}
	}
	if text, status, is := formProblem(err); is {
		return u.namespaces(c, status, templates.Namespaces{Problem: text}, name)
	}
	if err != nil {
		return err
	}
	return done(c, "/namespaces", notice)
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
