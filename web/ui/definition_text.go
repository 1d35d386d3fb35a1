package ui

import (
	"fmt"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// generationsListed is how many forms of a definition are listed.
const generationsListed = 50

// definition shows a definition, the forms it has had, and the difference of two of them.
func (p *definitionPages[S]) definition(c echo.Context) error {
	ctx := c.Request().Context()
	definition, err := p.read(c)
	if err != nil {
		return err
	}
	var view templates.DefinitionText
	if view.Definition, err = p.service.Text(&definition.Spec, definition.Source); err != nil {
		return err
	}
	view.Page, view.Head = p.page(c, &definition, templates.TabDefinition)
	list := &view.Generations
	list.Of, list.Path, list.Note, list.Present = definition.Name, view.Head.Path(""), p.note, definition.Generation
	cursor := c.QueryParam("cursor")
	generations, next, err := p.service.Generations(ctx, namespaceOf(ctx), definition.Name, cursor, generationsListed)
	if err != nil {
		return err
	}
	list.Pager = pager(c, cursor, next)
	for i := range generations {
		g := &generations[i]
		list.Forms = append(list.Forms, templates.Generation{N: g.Generation, At: g.At, By: g.By, Message: readable([]byte(g.Message))})
	}
	if from, to, asked := comparedGenerations(c); asked {
		var forms [2]engine.GenerationOf[S]
		for i, number := range []int64{from, to} {
			if forms[i], err = p.service.Generation(ctx, namespaceOf(ctx), definition.Name, number); err != nil {
				return err
			}
		}
		list.Compared, list.From, list.To = true, from, to
		if list.Changes, err = changes(p.service, &forms[0].Spec, forms[0].Source, &forms[1].Spec, forms[1].Source); err != nil {
			return fmt.Errorf("compare two forms of %s %s: %w", p.kind.Noun, definition.Name, err)
		}
	}
	return p.show(c, templates.DefinitionTextPage(view), templates.DefinitionTextPage(view))
}

// comparedGenerations are the two forms that the reader asks to compare.
func comparedGenerations(c echo.Context) (from, to int64, asked bool) {
	from, fromErr := strconv.ParseInt(c.QueryParam("from"), 10, 64)
	to, toErr := strconv.ParseInt(c.QueryParam("to"), 10, 64)
	return from, to, fromErr == nil && toErr == nil
}

// restore makes an earlier form of a definition the present one again.
func (p *definitionPages[S]) restore(c echo.Context) error {
	ctx := c.Request().Context()
	number, err := strconv.ParseInt(c.FormValue("generation"), 10, 64)
	if err != nil {
		number = 0 // there is no such form: the service says so
	}
	definition, change, err := p.service.Restore(ctx, namespaceOf(ctx), c.Param("name"), number, service.Actor(ctx), "")
	if err != nil {
		return err
	}
	notice := "restored"
	if change == service.Unchanged {
		notice = "unchanged"
	}
	return done(c, p.kind.Address("/"+definition.Name+"/definition"), notice)
}
