package ui

import (
	"maps"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const binariesPerPage = 50

func (u *UI) binaryList(c echo.Context) error {
	ctx, cursor := c.Request().Context(), c.QueryParam("cursor")
	view := templates.Binaries{Page: u.page(c, templates.SectionBinaries, "Binaries"), Text: strings.TrimSpace(c.QueryParam("q")), Live: here(c)}
	var (
		binaries []engine.Binary
		next     string
		err      error
	)
	if view.Text != "" {
		binaries, view.More, err = u.service.BinariesNamed(ctx, namespaceOf(ctx), view.Text, binariesPerPage)
	} else {
		binaries, next, err = u.service.Binaries(ctx, namespaceOf(ctx), cursor, binariesPerPage)
	}
	if err != nil {
		return err
	}
	view.Pager = pager(c, cursor, next)
	removing, err := u.service.Removing(ctx, namespaceOf(ctx), service.RemovedBinaries)
	if err != nil {
		return err
	}
	for i := range binaries {
		b := &binaries[i]
		row := templates.BinaryRow{Name: b.Name, Aliases: viewAliases(b), Updated: b.UpdatedAt, Removing: removing[b.Name]}
		if latest, ok := b.Latest(); ok {
			row.Latest, row.Kind, row.Size = latest.N, kindWords(latest.Kind, latest.Arch), latest.Size
		}
		view.Rows = append(view.Rows, row)
	}
	return u.show(c, templates.BinariesPage(view), templates.BinariesPart(view))
}

func viewAliases(b *engine.Binary) []templates.Alias {
	var aliases []templates.Alias
	for _, name := range slices.Sorted(maps.Keys(b.Aliases)) {
		aliases = append(aliases, templates.Alias{Name: name, N: b.Aliases[name], Back: service.RollsBackTo(b, name)})
	}
	return aliases
}
