package ui

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// backfillListed is how many slots of a plan are listed.
const backfillListed = 200

// backfillRange is what a user asks a backfill for.
type backfillRange struct {
	from, to time.Time
	zone     *time.Location // of the times that are shown
	by       string
	dryRun   bool
}

// backfillPlan is what a backfill comes to.
type backfillPlan struct {
	made  int // runs, or waves
	slots []templates.BackfillSlot
}

// backfillPlan says which slots of a range would run, and asks for the range where none is given.
func (p *definitionPages[S]) backfillPlan(c echo.Context) error {
	return p.backfillPage(c, c.QueryParam("from"), c.QueryParam("to"), true)
}

func (p *definitionPages[S]) backfillRun(c echo.Context) error {
	return p.backfillPage(c, c.FormValue("from"), c.FormValue("to"), false)
}

func (p *definitionPages[S]) backfillPage(c echo.Context, from, to string, dryRun bool) error {
	ctx := c.Request().Context()
	definition, err := p.read(c)
	if err != nil {
		return err
	}
	asked := backfillRange{zone: p.zone(&definition), by: service.Actor(ctx), dryRun: dryRun}
	view := templates.Backfill{From: from, To: to, Zone: asked.zone.String()}
	view.Page, view.Head = p.page(c, &definition, templates.TabBackfill)
	shown := zone(c)
	if shown.Location().String() == view.Zone {
		view.Zone = "" // it is what all times of the page are in
	}
	if from == "" && to == "" && dryRun {
		now := view.Page.Now.Truncate(time.Minute)
		view.From, view.To = shown.Input(now.Add(-24*time.Hour)), shown.Input(now)
		return p.render(c, http.StatusOK, templates.BackfillPage(view))
	}
	var ok, okEnd bool
	var notes [2]string
	asked.from, notes[0], ok = typedTime(c, from)
	asked.to, notes[1], okEnd = typedTime(c, to)
	if !ok || !okEnd {
		view.Problem = "Give both ends of the range, as in 2026-12-01T03:00."
		return p.render(c, http.StatusUnprocessableEntity, templates.BackfillPage(view))
	}
	for i, note := range notes {
		if note != "" && (i == 0 || note != notes[0]) {
			view.Notes = append(view.Notes, note)
		}
	}
	view.From, view.To = shown.Input(asked.from), shown.Input(asked.to) // whatever the zone was that the form names
	plan, err := p.backfill(ctx, &definition, asked)
	var known *service.Error
	switch {
	case errors.As(err, &known) && (refused(err) != "" || known.Kind == service.KindConflict):
		view.Problem = known.Detail
		return p.render(c, http.StatusUnprocessableEntity, templates.BackfillPage(view))
	case err != nil:
		return err
	case !dryRun && plan.made > 0:
		return done(c, view.Head.Path(""), p.backfilled)
	}
	view.Planned, view.New, view.More = true, plan.made, max(len(plan.slots)-backfillListed, 0)
	view.Slots = plan.slots[:len(plan.slots)-view.More]
	return p.render(c, http.StatusOK, templates.BackfillPage(view))
}

func (u *UI) backfillJob(ctx context.Context, job *engine.Job, asked backfillRange) (backfillPlan, error) {
	made, err := u.service.BackfillJob(ctx, job.Namespace, job.Name, asked.from, asked.to, asked.by, asked.dryRun)
	plan := backfillPlan{made: made.New}
	for _, slot := range made.Slots {
		row := asked.row(slot.Slot)
		if slot.Run != "" {
			row.Href, row.Status = "/runs/"+slot.Run, slot.Status.String()
		}
		plan.slots = append(plan.slots, row)
	}
	return plan, err
}

func (u *UI) backfillDAG(ctx context.Context, dag *engine.DAG, asked backfillRange) (backfillPlan, error) {
	made, err := u.service.BackfillDAG(ctx, dag.Namespace, dag.Name, asked.from, asked.to, asked.by, asked.dryRun)
	plan := backfillPlan{made: made.New}
	for i := range made.Waves {
		wave := &made.Waves[i]
		row := asked.row(wave.Slot)
		var roots []string
		for _, root := range sortedSlots(wave.Slots) {
			roots = append(roots, root+" "+wave.Slots[root].In(asked.zone).Format("15:04:05"))
		}
		row.Roots = someNames(roots)
		if wave.Wave != "" {
			row.Href = "/waves/" + wave.Wave
		}
		if wave.Wave != "" && wave.Status != engine.StatusInvalid {
			row.Status = wave.Status.String()
		}
		plan.slots = append(plan.slots, row)
	}
	return plan, err
}

func (b backfillRange) row(slot time.Time) templates.BackfillSlot {
	return templates.BackfillSlot{At: slot, Local: slot.In(b.zone).Format("Mon 2006-01-02 15:04:05")}
}
