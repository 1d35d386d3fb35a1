package ui

import (
	"fmt"
	"maps"
	"net/url"
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

// rootsOffered is how many roots a calendar can be chosen of; others are reached from the page of the DAG.
const rootsOffered = 24

// slotCalendar is where the calendar of a job, or of a root of a DAG, comes from.
type slotCalendar struct {
	root  string            // "" for a job
	roots []templates.Crumb // that can be chosen
	zone  *time.Location
	query url.Values // what addresses must hold, too
	runs  string     // address of the runs; "" for none
	// What starts by hand: "run was", "runs were".
	one, many string
}

// slots shows the ledger as a calendar; a day of it unfolds.
func (p *definitionPages[S]) slots(c echo.Context) error {
	ctx := c.Request().Context()
	definition, err := p.read(c)
	if err != nil {
		return err
	}
	var view templates.Calendar
	view.Page, view.Head = p.page(c, &definition, templates.TabSlots)
	from := p.calendar(c, &definition)
	if from == nil {
		view.NoRoot = true
		return p.show(c, templates.CalendarPage(view), templates.CalendarPage(view))
	}
	view.Root, view.Roots = from.root, from.roots
	aboutZone(c, from.zone) // a root may have a zone of its own
	from.zone = zone(c).Location()
	month := view.Page.Now.In(from.zone)
	chosen, chosenErr := time.ParseInLocation(dayForm, c.QueryParam("day"), from.zone)
	if chosenErr == nil {
		month = chosen
	}
	if text := c.QueryParam("month"); text != "" {
		asked, err := time.ParseInLocation(monthForm, text, from.zone)
		if err != nil || asked.Year() < 1970 || asked.Year() > 2199 {
			view.Problem = "The month is invalid and was ignored: write it as 2026-11."
		} else {
			month = asked
		}
	}
	calendar, err := p.service.Calendar(ctx, &definition, from.root, month, from.zone)
	if err != nil {
		return err
	}
	address := func(key, value string) string {
		query := maps.Clone(from.query)
		query.Set(key, value)
		return view.Head.Path("/slots?" + query.Encode())
	}
	view.Month, view.Zone = calendar.Month.Format("January 2006"), calendar.Zone.String()
	if calendar.Month.After(definition.CreatedAt) {
		view.Previous = address("month", calendar.Month.AddDate(0, -1, 0).Format(monthForm))
	}
	if next := calendar.Month.AddDate(0, 1, 0); next.Before(view.Page.Now.AddDate(0, 2, 0)) { // what is to come soon
		view.Next = address("month", next.Format(monthForm))
	}
	view.Weeks = viewWeeks(&view, &calendar, c.QueryParam("day"), func(date string) string { return address("day", date) + "#day" })
	at := slices.IndexFunc(calendar.Days, func(day service.Day) bool { return day.From.Format(dayForm) == chosen.Format(dayForm) })
	if chosenErr == nil && at >= 0 {
		entries, more, err := p.service.DaySlots(ctx, &definition, from.root, calendar.Days[at], ledgerShown)
		if err != nil {
			return fmt.Errorf("unfold a day of %s %s: %w", p.kind.Noun, definition.Name, err)
		}
		from.unfold(&view, &calendar.Days[at], entries)
		view.DayMore = more
	}
	return p.show(c, templates.CalendarPage(view), templates.CalendarPage(view))
}

func jobCalendar(_ echo.Context, job *engine.Job) *slotCalendar {
	return &slotCalendar{zone: zoneOf(job), query: url.Values{}, runs: "/runs?job=" + job.Name, one: "run was", many: "runs were"}
}

func dagCalendar(c echo.Context, dag *engine.DAG) *slotCalendar {
	roots := service.ScheduledRoots(dag)
	if len(roots) == 0 {
		return nil
	}
	from := &slotCalendar{one: "wave was", many: "waves were"}
	root := roots[0]
	for i, other := range roots {
		name := dag.Spec.Tasks[other].Name
		if name == c.QueryParam("root") {
			root = other
		}
		if i < rootsOffered {
			from.roots = append(from.roots, templates.Crumb{Name: name, Href: "/dags/" + dag.Name + "/slots?" + url.Values{"root": {name}}.Encode()})
		}
	}
	from.root = dag.Spec.Tasks[root].Name
	from.query = url.Values{"root": {from.root}}
	var err error
	if from.zone, err = time.LoadLocation(zoneName(dag, root)); err != nil {
		from.zone = time.UTC
	}
	return from
}

// zoneName is that of a root's schedule.
func zoneName(dag *engine.DAG, root int) string {
	if task := &dag.Spec.Tasks[root]; len(task.Schedule) > 0 && task.Timezone != "" {
		return task.Timezone
	}
	return dag.Spec.Timezone
}

func viewWeeks(view *templates.Calendar, calendar *service.Calendar, chosen string, address func(date string) string) (weeks [][]templates.CalendarDay) {
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
			shown.Href = address(date)
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
func (from *slotCalendar) unfold(view *templates.Calendar, day *service.Day, entries []service.LedgerEntry) {
	view.Day, view.DayHref = day.From.Format("Monday 2 January 2006"), from.runs
	view.DayEmpty = "No slot has passed on this day."
	if day.ByHand > 0 {
		view.DayEmpty = templates.Plural(int64(day.ByHand), from.one, from.many) + " triggered manually; no slot has passed on this day."
	}
	for _, e := range entries {
		row := templates.LedgerRow{From: e.From, To: e.To, Count: e.Count, Outcome: e.Outcome, Reason: service.ReasonWords(e.Reason), Run: e.Run}
		if e.Run != "" {
			row.Status = e.Status.String()
		}
		view.Ledger = append(view.Ledger, row)
	}
}
