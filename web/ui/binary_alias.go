package ui

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// binaryAliasPreview says what moving an alias would change. Without a version it is about a rollback.
func (u *UI) binaryAliasPreview(c echo.Context) error {
	ctx := c.Request().Context()
	name, alias := c.Param("name"), strings.TrimSpace(c.QueryParam("alias"))
	version := 0
	if text := c.QueryParam("version"); text != "" {
		version = max(versionNumber(text), 0)
		if version == 0 {
			return refusal("version_not_found", "a version is a number from 1, not "+strconv.Quote(text))
		}
	}
	change, err := u.service.PreviewAlias(ctx, namespaceOf(ctx), name, alias, version)
	if err != nil {
		return err
	}
	title := "Move " + alias + " to version " + strconv.Itoa(change.To.N)
	if version == 0 {
		title = "Roll " + alias + " back to version " + strconv.Itoa(change.To.N)
	}
	return u.render(c, http.StatusOK, templates.AliasChangePage(templates.AliasChange{
		Page: u.page(c, templates.SectionBinaries, title), Binary: name, Alias: alias, RollBack: version == 0,
		From: viewVersion(namespaceOf(ctx), name, change.From), To: viewVersion(namespaceOf(ctx), name, change.To), Jobs: viewUsers(change.Users),
	}))
}

func (u *UI) binaryAlias(c echo.Context) error {
	ctx := c.Request().Context()
	version := versionNumber(c.FormValue("version")) // what is no number is no version, which the service says
	binary, err := u.service.MoveAlias(ctx, namespaceOf(ctx), c.Param("name"), strings.TrimSpace(c.FormValue("alias")), version, service.Actor(ctx))
	if err != nil {
		return err
	}
	return done(c, "/binaries/"+binary.Name, "moved")
}

// versionNumber reads a version's number; 0 for what is none.
func versionNumber(text string) int {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return 0
	}
	return n
}
