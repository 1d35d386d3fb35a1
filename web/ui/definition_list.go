package ui

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	definitionsPerPage = 50
	// stateFavourite narrows a list to what its reader has starred.
	stateFavourite = "favourite"
)

var (
	jobStates = options(stateFavourite, service.StateFailing, service.StateLate, service.StatePaused)
	dagStates = options(stateFavourite, service.StateRunning, service.StateFailing, service.StatePaused)
	jobTiers  = options(spec.TierLight, spec.TierMedium, spec.TierHeavy)
	orders    = options(service.ByName, service.ByNext, service.ByLast, service.ByFailures)
)

// options are values to choose from that name themselves.
func options[T ~string](values ...T) []templates.Option {
	list := make([]templates.Option, len(values))
	for i, value := range values {
		list[i] = templates.Option{Value: string(value), Name: string(value)}
	}
	return list
}

// list shows the definitions that the address selects.
func (p *definitionPages[S]) list(c echo.Context) error {
	view := templates.Definitions{Page: p.UI.page(c, p.kind.Section, p.kind.Title), Kind: p.kind, Live: here(c)}
	view.RunKey = "list-" + strconv.FormatInt(view.Page.Now.UnixNano(), 36)
	if n, err := strconv.Atoi(c.QueryParam(noticeCount)); err == nil {
		view.Page.Notice = p.kind.ManyDone(c.QueryParam(noticeParameter), n)
	}
	query, err := p.query(c.Request().Context(), c.QueryParams(), &view)
	if err != nil {
		return err
	}
	list, err := p.service.Page(c.Request().Context(), query)
	if errors.Is(err, engine.ErrCursor) {
		view.Problem = "That page of the list no longer exists; this is the first page."
		query.Cursor = ""
		list, err = p.service.Page(c.Request().Context(), query)
	}
	if err != nil {
		return err
	}
	removing, err := p.UI.service.Removing(c.Request().Context(), query.Namespace, p.removed)
	if err != nil {
		return err
	}
	view.Pager, view.Partial, view.First = pager(c, query.Cursor, list.Next), list.Partial, list.First
	for i := range list.Entries {
		row := p.viewRow(&list.Entries[i])
		row.Starred, row.Removing = view.Starred[row.Name], removing[row.Name]
		view.Rows = append(view.Rows, row)
	}
	return p.show(c, templates.DefinitionsPage(view), templates.DefinitionsPart(view))
}

func (p *definitionPages[S]) viewRow(entry *service.Entry[S]) templates.DefinitionRow {
	row := templates.DefinitionRow{
		Name: entry.Definition.Name, Next: entry.Next, Paused: entry.Definition.Paused, Failures: entry.Health.Failures, Late: entry.Health.Late,
		Rate: rate(entry.Health.Succeeded, entry.Health.Ended), RateOf: entry.Health.Ended,
	}
	p.row(entry, &row)
	return row
}

// query reads the form. What it does not understand it leaves out, and says so.
func (p *definitionPages[S]) query(ctx context.Context, values url.Values, view *templates.Definitions) (service.ListQuery, error) {
	form := &view.Filter
	*form = templates.ListFilter{
		Text: values.Get("q"), Label: values.Get("label"), State: values.Get("state"), Tier: values.Get("tier"), Order: values.Get("order"),
		States: p.states, Tiers: p.tiers,
	}
	for _, field := range []struct {
		name    string
		value   *string
		options []templates.Option
	}{{"state", &form.State, form.States}, {"tier", &form.Tier, form.Tiers}, {"order", &form.Order, orders}} {
		known := slices.ContainsFunc(field.options, func(option templates.Option) bool { return option.Value == *field.value })
		if *field.value != "" && !known {
			view.Problem, *field.value = "The "+field.name+" is unknown and was ignored.", ""
		}
	}
	query := service.ListQuery{
		Namespace: namespaceOf(ctx), Text: form.Text, Label: knownLabel(form.Label, &view.Problem), Tier: spec.Tier(form.Tier), State: service.State(form.State),
		Order: service.Order(form.Order), Cursor: values.Get("cursor"), Limit: definitionsPerPage, Health: true,
	}
	var err error
	if view.Starred, err = p.UI.service.FavouriteNames(ctx, query.Namespace, p.kind.ID()); err != nil {
		return query, err
	}
	if form.State == stateFavourite {
		query.State, query.Only = "", view.Starred
	}
	return query, nil
}

// knownLabel returns a label that can be asked for; what is none is left out, and the problem says so.
func knownLabel(label string, problem *string) string {
	if err := service.CheckLabel(label); err != nil {
		*problem = "The label was ignored: " + err.Error() + "."
		return ""
	}
	return label
}

func jobRow(entry *service.Entry[spec.Job], row *templates.DefinitionRow) {
	job := &entry.Definition
	row.Description, row.Labels, row.Schedule = readable([]byte(job.Spec.Description)), labelList(job.Spec.Labels), scheduleWords(job)
	if job.Spec.Tier != spec.TierLight {
		row.Note = "tier " + string(job.Spec.Tier)
	}
	row.NextLocal = inZone(job.Spec.Timezone, entry.Next)
	row.Strip = viewMarks(entry.Health.Marks, service.HealthTimed)
	row.Trend, row.Took = trend("runs", entry.Health.Marks, service.HealthTimed)
}

func dagRow(entry *service.Entry[spec.DAG], row *templates.DefinitionRow) {
	dag := &entry.Definition
	row.Description, row.Labels = readable([]byte(dag.Spec.Description)), labelList(dag.Spec.Labels)
	row.Schedule, row.Note = templates.Plural(int64(len(dag.Spec.Tasks)), "task", "tasks"), "manual only"
	if _, roots, more := strings.Cut(dag.Spec.Summary(), "; "); more {
		row.Note = strings.ReplaceAll(roots, "; ", " · ")
	}
	row.Strip = viewWaves(&entry.Health)
	row.Trend, row.Took = trend("waves", entry.Health.Marks, len(entry.Health.Marks))
}

// rate is a share in whole per cent; all and none are said only where that is so. Of nothing it is "".
func rate(part, whole int) string {
	if whole == 0 {
		return ""
	}
	percent := part * 100 / whole
	if percent == 0 && part > 0 {
		percent = 1
	}
	return fmt.Sprintf("%d%%", percent)
}

// viewMarks turns the newest marks round: a strip begins with the oldest.
func viewMarks(marks []engine.RunMark, limit int) []templates.Mark {
	marks = marks[:min(limit, len(marks))]
	var longest time.Duration
	for i := range marks {
		if took, ok := marks[i].Took(); ok {
			longest = max(longest, took)
		}
	}
	views := make([]templates.Mark, len(marks))
	for i := range marks {
		mark := &marks[i]
		view := templates.Mark{ID: mark.ID, Status: mark.Status.String(), At: mark.CreatedAt}
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

// trend is the line of how long the last runs, or waves, took, and how long the last of them.
func trend(of string, marks []engine.RunMark, limit int) (spark templates.Spark, last string) {
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
	spark.Words = fmt.Sprintf("duration of the last %d %s, %s to %s", len(spark.Points), of, templates.Span(least), templates.Span(most))
	return spark, last
}

// viewWaves is viewMarks for the waves of a DAG.
func viewWaves(health *service.Health) []templates.Mark {
	marks := viewMarks(health.Marks, len(health.Marks))
	at := len(marks)
	for i := range health.Waves {
		wave := &health.Waves[i]
		if wave.Epoch == 0 {
			continue // it is in no strip
		}
		at--
		marks[at].Name = templates.WaveName(wave.Epoch)
		if !wave.Slot.IsZero() {
			marks[at].At = wave.Slot
		}
	}
	return marks
}

// inZone writes an instant on the clock of a job's zone, which it names; "" where that is UTC, which the page says anyway.
func inZone(zone string, at time.Time) string {
	location, err := time.LoadLocation(zone)
	if err != nil || at.IsZero() || location == time.UTC {
		return ""
	}
	return at.In(location).Format("Mon 15:04") + " " + zone
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
			if name != "cursor" && !slices.Contains(saidOnce, name) && values[0] != "" {
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
	for _, name := range saidOnce {
		query.Del(name)
	}
	if len(query) == 0 {
		return c.Request().URL.Path
	}
	return c.Request().URL.Path + "?" + query.Encode()
}
