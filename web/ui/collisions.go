package ui

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) collisionList(c echo.Context) error {
	ctx := c.Request().Context()
	view := templates.Collisions{Page: u.page(c, templates.SectionTimeline, "Collisions")}
	view.Page.Trail = []templates.Crumb{{Name: "Timeline", Href: templates.TimelinePath}, {Name: "Collisions"}}
	found, err := u.service.Collisions(ctx, namespaceOf(ctx))
	if err != nil {
		return err
	}
	view.More, view.Notes, view.Capacity = found.More, found.Notes, capacityWords(found.Capacity)
	for i := range found.List {
		view.List = append(view.List, viewCollision(&found.List[i], zone(c)))
	}
	return u.show(c, templates.CollisionsPage(view), templates.CollisionsPage(view))
}

func capacityWords(capacity map[spec.Tier]int) string {
	var parts []string
	for _, tier := range tierNames {
		parts = append(parts, fmt.Sprintf("%s %d", tier, capacity[spec.Tier(tier)]))
	}
	return "Slots now: " + strings.Join(parts, ", ") + "; executors of heavier tiers serve lighter ones, too."
}

func viewCollision(c *service.Collision, zone templates.Zone) templates.Collision {
	at := c.At[0]
	view := templates.Collision{
		At: at, Words: templates.Plural(int64(c.Runs), string(c.Tier)+" run", string(c.Tier)+" runs") + " at " + at.In(zone.Location()).Format("Mon 2 Jan 15:04"),
		Tier: string(c.Tier), Peak: c.Peak, Slots: c.Capacity, MoreOf: c.MoreOf,
		Href: timelineAddress{}.of(around(fixedWindow(at, at.Add(time.Minute)), time.Hour, at)),
	}
	if n := len(c.At) - 1; n > 0 {
		view.Again = "and " + templates.Plural(int64(n), "more time", "more times") + ", the last " + c.At[n].In(zone.Location()).Format("Mon 2 Jan 15:04")
	}
	if c.Lag >= time.Second {
		view.Lag = templates.Span(c.Lag)
	}
	for i := range c.Of {
		of := &c.Of[i]
		row := templates.CollisionOf{
			Name: of.Name, Href: definitionHref(of.DAG, of.Name), Value: spreadValue(of.DAG, of.Name, 0),
			Schedule: strings.Join(of.Schedule, ", "), Spread: strings.Join(of.Spread, ", "), Why: of.Why, Runs: of.Runs,
		}
		if of.Root != "" {
			row.Name += "/" + of.Root
		}
		if of.Takes > 0 {
			row.Takes = templates.Span(of.Takes)
		}
		if of.Spread != nil {
			view.CanSpread++
		}
		view.Of = append(view.Of, row)
	}
	return view
}

func definitionHref(dag bool, name string) string {
	if dag {
		return "/dags/" + url.PathEscape(name)
	}
	return "/jobs/" + url.PathEscape(name)
}

// spreadValue is how the form names a job or DAG, and the revision that was shown, 0 for none: "job nightly 3".
func spreadValue(dag bool, name string, revision int64) string {
	kind := "job"
	if dag {
		kind = "dag"
	}
	return kind + " " + name + " " + strconv.FormatInt(revision, 10)
}

func readSpread(value string) (of service.SpreadOf, ok bool) {
	parts := strings.Split(value, " ")
	if len(parts) != 3 || parts[0] != "job" && parts[0] != "dag" {
		return of, false
	}
	revision, err := strconv.ParseInt(parts[2], 10, 64)
	return service.SpreadOf{DAG: parts[0] == "dag", Name: parts[1], Revision: revision}, err == nil && revision >= 0
}

// spread shows what would become of the schedules that are chosen, and saves them once the reader has seen that.
func (u *UI) spread(c echo.Context) error {
	ctx := c.Request().Context()
	form, err := c.FormParams()
	if err != nil {
		return echo.NewHTTPError(http.StatusBadRequest, "the form cannot be read").SetInternal(err)
	}
	save := form.Get("save") == "yes"
	view := templates.SpreadView{Page: u.page(c, templates.SectionTimeline, "Spread schedules by H"), Ask: !save}
	view.Page.Trail = []templates.Crumb{{Name: "Timeline", Href: templates.TimelinePath}, {Name: "Collisions", Href: templates.CollisionsPath}, {Name: "Spread"}}
	var these []service.SpreadOf
	seen := map[string]bool{}
	for _, value := range form["schedule"] {
		of, ok := readSpread(value)
		if !ok {
			return echo.NewHTTPError(http.StatusBadRequest, "the form cannot be read")
		}
		if key := spreadValue(of.DAG, of.Name, 0); !seen[key] {
			seen[key] = true
			these = append(these, of)
		}
	}
	results, err := u.service.Spread(ctx, namespaceOf(ctx), these, service.Actor(ctx), !save)
	if words := refused(err); words != "" {
		view.Problem, view.Ask = strings.ToUpper(words[:1])+words[1:]+".", true
		return u.render(c, http.StatusUnprocessableEntity, templates.SpreadPage(view))
	}
	if err != nil {
		return err
	}
	for i := range results {
		r := &results[i]
		view.Rows = append(view.Rows, templates.SpreadRow{
			Name: r.Name, Href: definitionHref(r.DAG, r.Name), Value: spreadValue(r.DAG, r.Name, r.Revision), Before: strings.Join(r.Before, ", "),
			After: strings.Join(r.After, ", "), Problem: r.Problem, Old: r.Old, New: r.New, Saved: r.Saved,
		})
		if r.Saved {
			view.Saved++
		}
	}
	status := http.StatusOK
	if save && view.Saved < len(view.Rows) {
		status = http.StatusConflict
	}
	return u.render(c, status, templates.SpreadPage(view))
}
