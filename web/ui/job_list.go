package ui

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const jobsPerPage = 50

var (
	jobStates = []templates.Option{
		{Value: string(service.JobsFailing), Name: "failing"}, {Value: string(service.JobsLate), Name: "late"}, {Value: string(service.JobsPaused), Name: "paused"},
	}
	jobTiers = []templates.Option{
		{Value: string(spec.TierLight), Name: "light"}, {Value: string(spec.TierMedium), Name: "medium"}, {Value: string(spec.TierHeavy), Name: "heavy"},
	}
	jobOrders = []service.JobOrder{service.ByName, service.ByNext, service.ByLast, service.ByFailures}
)

func (u *UI) jobList(c echo.Context) error {
	view := templates.Jobs{Page: u.page(c, templates.SectionJobs, "Jobs"), Live: here(c)}
	query := jobQuery(c, &view)
	list, err := u.service.ListJobs(c.Request().Context(), query)
	if errors.Is(err, engine.ErrCursor) {
		view.Problem = "That page of the list no longer exists; this is the first page."
		query.Cursor = ""
		list, err = u.service.ListJobs(c.Request().Context(), query)
	}
	if err != nil {
		return err
	}
	view.Pager, view.Partial = pager(c, query.Cursor, list.Next), list.Partial
	for i := range list.Entries {
		view.Rows = append(view.Rows, viewJobRow(&list.Entries[i]))
	}
	return u.show(c, templates.JobsPage(view), templates.JobsPart(view))
}

// jobQuery reads the form. What it does not understand it leaves out, and says so.
func jobQuery(c echo.Context, view *templates.Jobs) service.JobQuery {
	form := templates.JobFilter{
		Text: c.QueryParam("q"), Label: c.QueryParam("label"), State: c.QueryParam("state"), Tier: c.QueryParam("tier"), Order: c.QueryParam("order"),
		States: jobStates, Tiers: jobTiers,
	}
	known := func(options []templates.Option, value string) bool {
		return value == "" || slices.ContainsFunc(options, func(option templates.Option) bool { return option.Value == value })
	}
	if !known(form.States, form.State) {
		view.Problem, form.State = "The state is unknown and was ignored.", ""
	}
	if !known(form.Tiers, form.Tier) {
		view.Problem, form.Tier = "The tier is unknown and was ignored.", ""
	}
	if form.Order != "" && !slices.Contains(jobOrders, service.JobOrder(form.Order)) {
		view.Problem, form.Order = "The order is unknown and was ignored.", ""
	}
	view.Filter = form
	return service.JobQuery{
		Namespace: namespaceOf(c.Request().Context()), Text: form.Text, Label: form.Label, Tier: spec.Tier(form.Tier), State: service.JobState(form.State),
		Order: service.JobOrder(form.Order), Cursor: c.QueryParam("cursor"), Limit: jobsPerPage,
	}
}

func viewJobRow(entry *service.JobEntry) templates.JobRow {
	job := &entry.Job
	row := templates.JobRow{
		Name: job.Name, Description: readable([]byte(job.Spec.Description)), Schedule: scheduleWords(job), Next: entry.Next,
		Paused: job.Paused, Failures: entry.Health.Failures, Late: entry.Health.Late, Tier: string(job.Spec.Tier),
		Strip: viewMarks(entry.Health.Marks, service.HealthTimed), RateOf: entry.Health.Ended,
	}
	row.Zone, row.NextLocal = inZone(job.Spec.Timezone, entry.Next)
	for _, key := range sortedKeys(job.Spec.Labels) {
		row.Labels = append(row.Labels, key+"="+job.Spec.Labels[key])
	}
	if entry.Health.Ended > 0 {
		row.Rate = rate(entry.Health.Succeeded, entry.Health.Ended)
	}
	row.Trend, row.Took = trend(entry.Health.Marks, service.HealthTimed)
	return row
}

// rate is a share in whole per cent; all and none are said only where that is so.
func rate(part, whole int) string {
	percent := part * 100 / whole
	if percent == 0 && part > 0 {
		percent = 1
	}
	return fmt.Sprintf("%d%%", percent)
}

// viewMarks turns the newest marks round: a strip begins with the oldest.
func viewMarks(marks []engine.RunMark, limit int) []templates.JobMark {
	marks = marks[:min(limit, len(marks))]
	var longest time.Duration
	for i := range marks {
		if took, ok := marks[i].Took(); ok {
			longest = max(longest, took)
		}
	}
	views := make([]templates.JobMark, len(marks))
	for i := range marks {
		mark := &marks[i]
		view := templates.JobMark{ID: mark.ID, Status: mark.Status.String(), At: mark.CreatedAt}
		if slot, ok := engine.SlotOf(mark.ID); ok {
			view.At = slot
		}
		if took, ok := mark.Took(); ok {
			view.Took = templates.Span(took)
			if longest > 0 {
				view.Weight = float64(took) / float64(longest)
			}
		}
		views[len(marks)-1-i] = view
	}
	return views
}

// trend is the line of how long the last runs took, and how long the last of them.
func trend(marks []engine.RunMark, limit int) (spark templates.Spark, last string) {
	var least, most time.Duration
	for i := range marks[:min(limit, len(marks))] {
		took, ok := marks[i].Took()
		if !ok {
			continue
		}
		if last == "" {
			last, least = templates.Span(took), took
		}
		least, most = min(least, took), max(most, took)
		spark.Points = append(spark.Points, took.Seconds())
	}
	slices.Reverse(spark.Points)
	spark.Words = fmt.Sprintf("duration of the last %d runs, %s to %s", len(spark.Points), templates.Span(least), templates.Span(most))
	return spark, last
}

// inZone writes an instant on the clock of a job's zone; nothing where that is UTC, which the page says anyway.
func inZone(zone string, at time.Time) (name, local string) {
	if zone == "" || zone == "UTC" {
		return "", ""
	}
	location, err := time.LoadLocation(zone)
	if err != nil || at.IsZero() {
		return zone, ""
	}
	return zone, at.In(location).Format("Mon 15:04")
}

func sortedKeys(labels map[string]string) []string {
	keys := make([]string, 0, len(labels))
	for key := range labels {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// scheduleWords describes a job's schedule; what was saved compiles, unless it was written by another version.
func scheduleWords(job *engine.Job) string {
	schedule, err := cron.Compile(job.Spec.Definition(job.Key(), job.CreatedAt))
	if err != nil {
		return err.Error()
	}
	return schedule.Describe()
}

// pager leads to the next page of the list that is shown, and back to its first.
func pager(c echo.Context, cursor, next string) templates.Pager {
	at := func(cursor string) string {
		query := url.Values{}
		for name, values := range c.QueryParams() {
			if name != "cursor" && name != noticeParameter && name != noticeCount && values[0] != "" {
				query[name] = values
			}
		}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		if len(query) == 0 {
			return c.Request().URL.Path
		}
		return c.Request().URL.Path + "?" + query.Encode()
	}
	var p templates.Pager
	if cursor != "" {
		p.First = at("")
	}
	if next != "" {
		p.Next = at(next)
	}
	return p
}

// here is the address of the page that is shown, without what it says only once.
func here(c echo.Context) string {
	query := c.Request().URL.Query()
	query.Del(noticeParameter)
	query.Del(noticeCount)
	if len(query) == 0 {
		return c.Request().URL.Path
	}
	return c.Request().URL.Path + "?" + query.Encode()
}
