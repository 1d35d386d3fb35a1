package ui

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// undoParameter names the deletion that a page offers to take back.
const undoParameter = "undo"

// remove asks for a deletion that can be taken back, and leads to the list, which offers that.
func (u *UI) remove(c echo.Context, what service.Removed, names []string, list string) error {
	ctx := c.Request().Context()
	removal, err := u.service.Remove(ctx, namespaceOf(ctx), service.Actor(ctx), what, names)
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, withUndo(list, removal.ID))
}

// withUndo is the address of a page that offers to take a deletion back.
func withUndo(list, id string) string {
	path, query, _ := strings.Cut(list, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		values = url.Values{}
	}
	values.Set(undoParameter, id)
	return path + "?" + values.Encode()
}

// undoOf is what a page says of the deletion that led to it; nil where it can be taken back no more.
func (u *UI) undoOf(c echo.Context) *templates.Undo {
	id := c.QueryParam(undoParameter)
	if id == "" {
		return nil
	}
	ctx := c.Request().Context()
	removal, err := u.service.Removal(ctx, namespaceOf(ctx), service.Actor(ctx), id)
	if err != nil || !removal.Waiting() {
		return nil
	}
	return u.viewUndo(&removal)
}

func (u *UI) viewUndo(removal *service.Removal) *templates.Undo {
	return &templates.Undo{ID: removal.ID, What: removal.Words(), Many: len(removal.Names) > 1, Left: removal.Due.Sub(u.now())}
}

// undo takes a deletion back.
func (u *UI) undo(c echo.Context) error {
	ctx := c.Request().Context()
	removal, err := u.service.Undo(ctx, namespaceOf(ctx), service.Actor(ctx), c.Param("id"))
	if err != nil {
		return err
	}
	if byScript(c) {
		return c.NoContent(http.StatusNoContent)
	}
	return done(c, "/"+string(removal.What), "kept")
}

// undoState says how a deletion stands: for the page that offered to take it back.
func (u *UI) undoState(c echo.Context) error {
	ctx := c.Request().Context()
	removal, err := u.service.Removal(ctx, namespaceOf(ctx), service.Actor(ctx), c.Param("id"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]any{"ended": removal.Ended, "refused": removal.Refusals()})
}
