package ui

import (
	"context"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// favouritesShown is how many jobs, and how many DAGs, the overview shows at most.
const favouritesShown = 10

// favour stars a definition for its reader, or takes the star away.
func (p *definitionPages[S]) favour(c echo.Context) error {
	ctx := c.Request().Context()
	one := service.Favourite{Kind: p.kind.ID(), Name: c.Param("name")}
	if err := p.UI.service.Favour(ctx, namespaceOf(ctx), one, c.FormValue("favourite") == "on"); err != nil {
		return err
	}
	if byScript(c) {
		return c.NoContent(http.StatusNoContent)
	}
	return c.Redirect(http.StatusSeeOther, cameFrom(c.Request()))
}

// favouriteRows are those that the overview shows.
func (p *definitionPages[S]) favouriteRows(ctx context.Context) ([]templates.FavouriteRow, error) {
	starred, err := p.UI.service.FavouriteNames(ctx, namespaceOf(ctx), p.kind.ID())
	if err != nil || len(starred) == 0 {
		return nil, err
	}
	list, err := p.service.Page(ctx, service.ListQuery{Namespace: namespaceOf(ctx), Only: starred, Limit: favouritesShown, Health: true})
	if err != nil {
		return nil, fmt.Errorf("list favourites: %w", err)
	}
	rows := make([]templates.FavouriteRow, len(list.Entries))
	for i := range list.Entries {
		rows[i] = templates.FavouriteRow{Kind: p.kind, Row: p.viewRow(&list.Entries[i])}
	}
	return rows, nil
}
