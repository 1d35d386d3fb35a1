package ui

import (
	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// dagDefinition shows a definition, the forms it has had, and the difference of two of them.
func (u *UI) dagDefinition(c echo.Context) error {
	ctx := c.Request().Context()
	dag, err := u.dag(ctx, c)
	if err != nil {
		return err
	}
	text, err := spec.TextDAG(&dag.Spec, dag.Source)
	if err != nil {
		return err
	}
	view := templates.DAGText{
		Definition: string(text),
		Generations: templates.Generations{
			Of: dag.Name, Path: "/dags/" + dag.Name, Present: dag.Generation,
			Note: "the forms it has had, the newest first; a wave ends on the one it began with",
		},
	}
	view.Page, view.Head = u.dagPage(c, &dag, templates.DAGDefinition)
	cursor := c.QueryParam("cursor")
	generations, next, err := u.service.DAGGenerationsPage(ctx, namespaceOf(ctx), dag.Name, cursor, generationsListed)
	if err != nil {
		return err
	}
	list := &view.Generations
	list.Pager = pager(c, cursor, next)
	for i := range generations {
		g := &generations[i]
		list.Forms = append(list.Forms, listedGeneration(g.Generation, g.At, g.By, g.Message))
	}
	if from, to, asked := comparedGenerations(c); asked {
		var forms [2]engine.DAGGeneration
		for i, number := range []int64{from, to} {
			if forms[i], err = u.service.DAGGeneration(ctx, namespaceOf(ctx), dag.Name, number); err != nil {
				return err
			}
		}
		list.Compared, list.From, list.To = true, from, to
		if list.Changes, err = dagChanges(&forms[0].Spec, forms[0].Source, &forms[1].Spec, forms[1].Source); err != nil {
			return err
		}
	}
	return u.show(c, templates.DAGTextPage(view), templates.DAGTextPage(view))
}

// dagRestore gives a DAG an earlier form again.
func (u *UI) dagRestore(c echo.Context) error {
	ctx := c.Request().Context()
	dag, change, err := u.service.RestoreDAG(ctx, namespaceOf(ctx), c.Param("name"), restoredGeneration(c), service.Actor(ctx), "")
	if err != nil {
		return err
	}
	return done(c, "/dags/"+dag.Name+"/definition", restored(change))
}
