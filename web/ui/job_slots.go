package ui

import (
	"fmt"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// ledgerShown is how many lines of a day are listed.
const ledgerShown = 200

const (
	monthForm = "2006-01"
	dayForm   = "2006-01-02"
)

// jobSlots shows the ledger as a calendar; a day of it unfolds.
func (u *UI) jobSlots(c echo.Context) error {
	ctx := c.Request().Context()
	job, err := u.job(ctx, c)
	if err != nil {
		return err
	}
	var view templates.Calendar
	view.Page, view.Head = u.jobPage(c, &job, templates.JobSlots)
	zone := zoneOf(&job)
	month := view.Page.Now.In(zone)
	chosen, chosenErr := time.ParseInLocation(dayForm, c.QueryParam("day"), zone)
	if chosenErr == nil {
		month = chosen
	}
	if text := c.QueryParam("month"); text != "" {
		asked, err := time.ParseInLocation(monthForm, text, zone)
		if err != nil || asked.Year() < 1970 || asked.Year() > 2199 {
			view.Problem = "This month is not understood, and was left out: write it as 2026-11."
		} else {
			month = asked
		}
	}
	calendar, err := u.service.Calendar(ctx, namespaceOf(ctx), job.Name, month)
	if err != nil {
		return err
	}
	view.Month, view.Zone = calendar.Month.Format("January 2006"), zone.String()
	u.viewMonths(&view, &job, &calendar)
	view.Weeks = viewWeeks(&view, &calendar, c.QueryParam("day"))
	if chosenErr != nil {
		return u.show(c, templates.CalendarPage(view), templates.CalendarPage(view))
	}
	for i := range calendar.Days {
		if calendar.Days[i].From.Format(dayForm) == chosen.Format(dayForm) {
			if err := u.unfold(c, &view, &job, &calendar.Days[i]); err != nil {
				return err
			}
		}
	}
	return u.show(c, templates.CalendarPage(view), templates.CalendarPage(view))
}

// viewMonths leads to the months in which something may have happened, or is to come soon.
func (u *UI) viewMonths(view *templates.Calendar, job *engine.Job, calendar *service.Calendar) {
	address := func(month time.Time) string { return "/jobs/" + job.Name + "/slots?month=" + month.Format(monthForm) }
	if calendar.Month.After(job.CreatedAt) {
		view.Previous = address(calendar.Month.AddDate(0, -1, 0))
	}
	if next := calendar.Month.AddDate(0, 1, 0); next.Before(view.Page.Now.AddDate(0, 2, 0)) {
		view.Next = address(next)
	}
}

func viewWeeks(view *templates.Calendar, calendar *service.Calendar, chosen string) (weeks [][]templates.CalendarDay) {
	most := 1
	for i := range calendar.Days {
		most = max(most, calendar.Days[i].Fired())
	}
	week := make([]templates.CalendarDay, (int(calendar.Month.Weekday())+6)%7, 7)
	for i := range calendar.Days {
		day := &calendar.Days[i]
		date := day.From.Format(dayForm)
		shown := templates.CalendarDay{
			N: i + 1, Name: day.From.Format("Monday 2 January"), Today: !view.Page.Now.Before(day.From) && view.Page.Now.Before(day.Until),
			Chosen: date == chosen, Fired: day.Fired(), Bad: day.Bad, ByHand: day.ByHand, Planned: day.Planned,
			Skipped: day.Skipped, Missed: day.Missed, More: day.More,
		}
		if shown.Fired > 0 {
			shown.Heat = 1 + shown.Fired*3/most
		}
		if shown.Fired > 0 || shown.Skipped > 0 || shown.Missed > 0 || shown.ByHand > 0 {
			shown.Href = "/jobs/" + view.Head.Name + "/slots?day=" + date + "#day"
		}
		for _, reason := range sortedReasons(day.Reasons) {
			shown.Reasons = append(shown.Reasons, templates.Plural(day.Reasons[reason], "slot", "slots")+": "+service.ReasonWords(string(reason)))
		}
		if week = append(week, shown); len(week) == 7 {
			weeks = append(weeks, week)
			week = make([]templates.CalendarDay, 0, 7)
		}
	}
	if len(week) > 0 {
		weeks = append(weeks, append(week, make([]templates.CalendarDay, 7-len(week))...))
	}
	return weeks
}

func sortedReasons(reasons map[engine.SlotReason]int64) []engine.SlotReason {
	var sorted []engine.SlotReason
	for reason := range reasons {
		sorted = append(sorted, reason)
	}
	slices.Sort(sorted)
	return sorted
}

// unfold fills in what became of each slot of a day.
func (u *UI) unfold(c echo.Context, view *templates.Calendar, job *engine.Job, day *service.Day) error {
	entries, more, err := u.service.DaySlots(c.Request().Context(), namespaceOf(c.Request().Context()), job.Name, *day, ledgerShown)
	if err != nil {
		return fmt.Errorf("unfold a day of job %s: %w", job.Name, err)
	}
	view.Day, view.DayMore, view.DayHref = day.From.Format("Monday 2 January 2006"), more, "/runs?job="+job.Name
	view.DayEmpty = "No slot has passed on this day."
	if day.ByHand > 0 {
		view.DayEmpty = templates.Plural(int64(day.ByHand), "run was", "runs were") + " asked for by hand; no slot has passed on this day."
	}
	for _, e := range entries {
		row := templates.LedgerRow{From: e.From, To: e.To, Count: e.Count, Outcome: e.Outcome, Reason: service.ReasonWords(e.Reason), Run: e.Run}
		if e.Run != "" {
			row.Status = e.Status.String()
		}
		view.Ledger = append(view.Ledger, row)
	}
	return nil
}
