package ui

import (
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// dagBackfillPlan says which waves a range would make, and asks for the range where none is given.
func (u *UI) dagBackfillPlan(c echo.Context) error {
	return u.dagPlan(c, c.QueryParam("from"), c.QueryParam("to"), true)
}

func (u *UI) dagBackfill(c echo.Context) error {
	return u.dagPlan(c, c.FormValue("from"), c.FormValue("to"), false)
}

func (u *UI) dagPlan(c echo.Context, from, to string, dryRun bool) error {
	ctx := c.Request().Context()
	dag, err := u.dag(ctx, c)
	if err != nil {
		return err
	}
	zone := dagZone(&dag)
	view := templates.DAGPlan{From: from, To: to, Zone: zone.String()}
	view.Page, view.Head = u.dagPage(c, &dag, templates.DAGBackfill)
	if from == "" && to == "" && dryRun {
		now := view.Page.Now.In(zone)
		view.From, view.To = now.Add(-24*time.Hour).Format(clockForms[1]), now.Format(clockForms[1])
		return u.render(c, http.StatusOK, templates.DAGPlanPage(view))
	}
	begin, ok := readClock(from, zone)
	end, okEnd := readClock(to, zone)
	if !ok || !okEnd {
		view.Problem = "Give both ends of the range, as in 2026-12-01T03:00."
		return u.render(c, http.StatusUnprocessableEntity, templates.DAGPlanPage(view))
	}
	plan, err := u.service.BackfillDAG(ctx, namespaceOf(ctx), dag.Name, begin, end, service.Actor(ctx), dryRun)
	var known *service.Error
	switch {
	case errors.As(err, &known) && (known.Kind == service.KindInvalid || known.Kind == service.KindConflict):
		view.Problem = known.Detail
		return u.render(c, http.StatusUnprocessableEntity, templates.DAGPlanPage(view))
	case err != nil:
		return err
	case !dryRun && plan.New > 0:
		return done(c, "/dags/"+dag.Name, "waves-asked")
	}
	view.Planned, view.New, view.More = true, plan.New, max(len(plan.Waves)-backfillListed, 0)
	for i := range plan.Waves[:len(plan.Waves)-view.More] {
		view.Waves = append(view.Waves, viewPlannedWave(&plan.Waves[i], zone))
	}
	return u.render(c, http.StatusOK, templates.DAGPlanPage(view))
}

func viewPlannedWave(planned *service.BackfillWave, zone *time.Location) templates.PlannedWave {
	row := templates.PlannedWave{At: planned.Slot, Local: planned.Slot.In(zone).Format("Mon 2006-01-02 15:04:05"), Wave: planned.Wave}
	var roots []string
	for _, root := range sortedSlots(planned.Slots) {
		roots = append(roots, root+" "+planned.Slots[root].In(zone).Format("15:04:05"))
	}
	row.Roots = someNames(roots)
	if planned.Wave != "" && planned.Status != engine.StatusInvalid {
		row.Status = planned.Status.String()
	}
	return row
}

// dagZone is the zone that a range is read in: the DAG's, UTC where it has none.
func dagZone(dag *engine.DAG) *time.Location {
	zone, err := time.LoadLocation(dag.Spec.Timezone)
	if err != nil {
		return time.UTC
	}
	return zone
}
