package ui

import (
	"maps"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const binariesPerPage = 50

func (u *UI) binaryList(c echo.Context) error {
	cursor := c.QueryParam("cursor")
	binaries, next, err := u.service.Binaries(c.Request().Context(), namespaceOf(c.Request().Context()), cursor, binariesPerPage)
	if err != nil {
		return err
	}
	view := templates.Binaries{Page: u.page(c, templates.SectionBinaries, "Binaries"), Pager: pager(c, cursor, next)}
	for i := range binaries {
		b := &binaries[i]
		row := templates.BinaryRow{Name: b.Name, Aliases: viewAliases(b), Updated: b.UpdatedAt}
		if latest, ok := b.Latest(); ok {
			row.Latest, row.Kind, row.Size = latest.N, kindWords(latest.Kind, latest.Arch), latest.Size
		}
		view.Rows = append(view.Rows, row)
	}
	return u.render(c, http.StatusOK, templates.BinariesPage(view))
}

func viewAliases(b *engine.Binary) []templates.Alias {
	var aliases []templates.Alias
	for _, name := range slices.Sorted(maps.Keys(b.Aliases)) {
		aliases = append(aliases, templates.Alias{Name: name, N: b.Aliases[name], Back: service.RollsBackTo(b, name)})
	}
	return aliases
}
