package ui

import (
	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) scaling(c echo.Context) error {
	view := templates.Scaling{Page: u.page(c, templates.SectionExecutors, "Scaling")}
	tiers, err := u.service.Scaling(c.Request().Context(), service.ScalingBounds{})
	if err != nil {
		view.Troubles = append(view.Troubles, "The queue or the store does not answer: what is needed is unknown. "+err.Error())
	}
	for i := range tiers {
		t := &tiers[i]
		row := templates.ScalingRow{
			Tier: string(t.Tier), Wanted: t.Wanted, Alive: t.Alive, Waiting: t.Waiting, Busy: t.Busy, Slots: t.Slots, Why: t.Why,
		}
		if t.Waiting > 0 {
			row.Oldest = templates.Span(t.Oldest)
		}
		if t.Average > 0 {
			row.Average = templates.Span(t.Average)
		}
		view.Rows = append(view.Rows, row)
	}
	return u.show(c, templates.ScalingPage(view), templates.ScalingPart(view))
}
