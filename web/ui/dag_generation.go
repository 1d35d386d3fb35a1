package ui

import (
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// generationsListed is how many forms of a DAG are listed.
const generationsListed = 50

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
	view := templates.DAGText{Definition: string(text), Generation: dag.Generation}
	view.Page, view.Head = u.dagPage(c, &dag, templates.DAGDefinition)
	generations, _, err := u.service.DAGGenerationsPage(ctx, namespace, dag.Name, "", generationsListed)
	if err != nil {
		return err
	}
	for i := range generations {
		g := &generations[i]
		view.Generations = append(view.Generations, templates.Generation{N: g.Generation, At: g.At, By: g.By, Message: readable([]byte(g.Message))})
	}
	from, fromErr := strconv.ParseInt(c.QueryParam("from"), 10, 64)
	to, toErr := strconv.ParseInt(c.QueryParam("to"), 10, 64)
	if fromErr == nil && toErr == nil {
		var forms [2]engine.DAGGeneration
		for i, number := range []int64{from, to} {
			if forms[i], err = u.service.DAGGeneration(ctx, namespace, dag.Name, number); err != nil {
				return err
			}
		}
		view.Compared, view.From, view.To = true, from, to
		if view.Changes, err = dagChanges(&forms[0].Spec, forms[0].Source, &forms[1].Spec, forms[1].Source); err != nil {
			return err
		}
	}
	return u.show(c, templates.DAGTextPage(view), templates.DAGTextPage(view))
}

// dagRestore gives a DAG an earlier form again.
func (u *UI) dagRestore(c echo.Context) error {
	ctx := c.Request().Context()
	number, err := strconv.ParseInt(c.FormValue("generation"), 10, 64)
	if err != nil {
		number = 0 // there is none: the service says so
	}
	dag, change, err := u.service.RestoreDAG(ctx, namespace, c.Param("name"), number, service.Actor(ctx), "")
	if err != nil {
		return err
	}
	if change == service.Unchanged {
		return done(c, "/dags/"+dag.Name+"/definition", "unchanged")
	}
	return done(c, "/dags/"+dag.Name+"/definition", "restored")
}
