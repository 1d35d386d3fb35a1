package ui

import (
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// rootsOffered is how many roots a calendar can be chosen of; others are reached from the page of the DAG.
const rootsOffered = 24

// dagSlots shows the ledger of a root as a calendar; a day of it unfolds.
func (u *UI) dagSlots(c echo.Context) error {
	dag, err := u.dag(c.Request().Context(), c)
	if err != nil {
		return err
	}
	var view templates.DAGCalendar
	view.Calendar.Page, view.Head = u.dagPage(c, &dag, templates.DAGSlots)
	view.Calendar.Head.Name = dag.Name
	roots := service.ScheduledRoots(&dag)
	if len(roots) == 0 {
		return u.show(c, templates.DAGCalendarPage(view), templates.DAGCalendarPage(view))
	}
	root := roots[0]
	address := func(root int, more url.Values) string {
		query := url.Values{"root": {dag.Spec.Tasks[root].Name}}
		for key, values := range more {
			query[key] = values
		}
		return "/dags/" + dag.Name + "/slots?" + query.Encode()
	}
	for i, other := range roots {
		name := dag.Spec.Tasks[other].Name
		if name == c.QueryParam("root") {
			root = other
		}
		if i < rootsOffered {
			view.Roots = append(view.Roots, templates.Crumb{Name: name, Href: address(other, nil)})
		}
	}
	view.Root = dag.Spec.Tasks[root].Name
	return u.rootCalendar(c, &dag, root, &view, func(more url.Values) string { return address(root, more) })
}

func (u *UI) rootCalendar(c echo.Context, dag *engine.DAG, root int, view *templates.DAGCalendar, address func(url.Values) string) error {
	ctx := c.Request().Context()
	shown := &view.Calendar
	zone, err := time.LoadLocation(zoneName(dag, root))
	if err != nil {
		zone = time.UTC
	}
	month := shown.Page.Now.In(zone)
	chosen, chosenErr := time.ParseInLocation(dayForm, c.QueryParam("day"), zone)
	if chosenErr == nil {
		month = chosen
	}
	if text := c.QueryParam("month"); text != "" {
		asked, err := time.ParseInLocation(monthForm, text, zone)
		if err != nil || asked.Year() < 1970 || asked.Year() > 2199 {
			shown.Problem = "This month is not understood, and was left out: write it as 2026-11."
		} else {
			month = asked
		}
	}
	calendar, err := u.service.RootCalendar(ctx, dag, root, month)
	if err != nil {
		return err
	}
	shown.Month, shown.Zone = calendar.Month.Format("January 2006"), calendar.Zone.String()
	if calendar.Month.After(dag.CreatedAt) {
		shown.Previous = address(url.Values{"month": {calendar.Month.AddDate(0, -1, 0).Format(monthForm)}})
	}
	if next := calendar.Month.AddDate(0, 1, 0); next.Before(shown.Page.Now.AddDate(0, 2, 0)) {
		shown.Next = address(url.Values{"month": {next.Format(monthForm)}})
	}
	shown.Weeks = viewWeeks(shown, &calendar, c.QueryParam("day"))
	for _, week := range shown.Weeks {
		for i := range week {
			if week[i].Href != "" {
				date := time.Date(calendar.Month.Year(), calendar.Month.Month(), week[i].N, 0, 0, 0, 0, time.UTC)
				week[i].Href = address(url.Values{"day": {date.Format(dayForm)}}) + "#day"
			}
		}
	}
	if chosenErr == nil {
		at := slices.IndexFunc(calendar.Days, func(day service.Day) bool { return day.From.Format(dayForm) == chosen.Format(dayForm) })
		if at >= 0 {
			if err := u.unfoldRootDay(c, dag, view, &calendar.Days[at]); err != nil {
				return err
			}
		}
	}
	return u.show(c, templates.DAGCalendarPage(*view), templates.DAGCalendarPage(*view))
}

// zoneName is that of a root's schedule.
func zoneName(dag *engine.DAG, root int) string {
	if task := &dag.Spec.Tasks[root]; len(task.Schedule) > 0 && task.Timezone != "" {
		return task.Timezone
	}
	return dag.Spec.Timezone
}

// unfoldRootDay fills in what became of each slot of a day.
func (u *UI) unfoldRootDay(c echo.Context, dag *engine.DAG, view *templates.DAGCalendar, day *service.Day) error {
	entries, more, err := u.service.RootDaySlots(c.Request().Context(), dag, view.Root, *day, ledgerShown)
	if err != nil {
		return fmt.Errorf("unfold a day of %s/%s: %w", dag.Name, view.Root, err)
	}
	shown := &view.Calendar
	shown.Day, shown.DayMore = day.From.Format("Monday 2 January 2006"), more
	shown.DayEmpty = "No slot has passed on this day."
	if day.ByHand > 0 {
		shown.DayEmpty = templates.Plural(int64(day.ByHand), "wave was", "waves were") + " asked for by hand; no slot has passed on this day."
	}
	for _, e := range entries {
		row := templates.LedgerRow{From: e.From, To: e.To, Count: e.Count, Outcome: e.Outcome, Reason: service.ReasonWords(e.Reason), Run: e.Run}
		if e.Run != "" {
			row.Status = e.Status.String()
		}
		shown.Ledger = append(shown.Ledger, row)
	}
	return nil
}
