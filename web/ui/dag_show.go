package ui

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	wavesShown  = 10 // in the table of a DAG's page
	wavesLooked = 50 // of which its rate and its chart are
	rootsShown  = 8
	rootSlots   = 4 // of each
)

func (u *UI) dagShow(c echo.Context) error {
	ctx := c.Request().Context()
	dag, err := u.dagPages().read(c)
	if err != nil {
		return err
	}
	view := templates.DAG{Shown: u.dagPages().shown(c, &dag)}
	view.Facts, view.Labels = dagFacts(&dag.Spec), labelList(dag.Spec.Labels)
	found, err := u.service.TaskHindrances(ctx, &dag)
	if err != nil {
		return err
	}
	view.Hindrances = viewHindrances(&view.Head, found)
	if view.Alerts, err = u.shownAlerts(ctx, dag.Name, dag.Spec.Alerts); err != nil {
		return err
	}
	if view.Triggers, err = u.shownTriggers(c, dag.Name, true); err != nil {
		return err
	}
	if view.Graph, err = definitionGraph(&dag); err != nil {
		return err
	}
	view.View = c.QueryParam(tabParameter)
	forecasts, more, err := u.service.DAGs.Forecast(&dag, time.Time{}, rootsShown, rootSlots)
	if err != nil {
		return fmt.Errorf("preview the slots of DAG %s: %w", dag.Name, err)
	}
	view.Roots, view.MoreRoots = viewForecasts(forecasts), more
	histories, err := u.service.Histories(ctx, []engine.DAG{dag}, wavesLooked)
	if err != nil {
		return err
	}
	history := &histories[0]
	view.Waves = viewWaveRows(history.Waves[:min(wavesShown, len(history.Waves))])
	if len(history.Waves) > wavesShown {
		view.MoreWaves = "/dags/" + dag.Name + "/waves"
	}
	view.Strip = viewWaves(&history.Health)
	view.Rate, view.RateOf = rate(history.Succeeded, history.Ended), history.Ended
	view.Duration = waveChart(history, zone(c))
	return u.show(c, templates.DAGPage(view), templates.DAGPart(view))
}

// dagFacts are what of a definition is asked about most.
func dagFacts(definition *spec.DAG) []templates.Fact {
	facts := []templates.Fact{{Name: "Tasks", Value: strconv.Itoa(len(definition.Tasks))}}
	for _, runsOn := range dagRunsOn(definition) {
		facts = append(facts, templates.Fact{Name: "Runs on", Value: runsOn})
	}
	if definition.MaxParallel > 0 {
		facts = append(facts, templates.Fact{Name: "At once", Value: templates.Plural(int64(definition.MaxParallel), "run", "runs") + " at most"})
	}
	if !definition.Manual() {
		overlap := "slots during a wave are skipped"
		if definition.Overlap == spec.WaveQueue {
			overlap = "one slot during a wave is queued"
		}
		facts = append(facts, templates.Fact{Name: "Overlap", Value: overlap}, templates.Fact{Name: "Catch-up", Value: catchUpWords(definition.CatchUp)})
	}
	return facts
}

// dagRunsOn reports what tasks ask of executors: "gpu=true: train, tune", in the order of the labels.
func dagRunsOn(definition *spec.DAG) (words []string) {
	const named = 3
	tasks := map[string][]string{}
	for i := range definition.Tasks {
		if labels := spec.RunsOnText(definition.TaskJob(i).RunsOn); labels != "" {
			tasks[labels] = append(tasks[labels], definition.Tasks[i].Name)
		}
	}
	for _, labels := range slices.Sorted(maps.Keys(tasks)) {
		all := tasks[labels]
		names := strings.Join(all[:min(len(all), named)], ", ")
		switch {
		case len(all) == len(definition.Tasks):
			names = "every task"
		case len(all) > named:
			names += fmt.Sprintf(" and %d more", len(all)-named)
		}
		words = append(words, strings.ReplaceAll(labels, ",", ", ")+": "+names)
	}
	return words
}

// waveChart draws how long the last waves took.
func waveChart(history *service.WaveHistory, zone templates.Zone) templates.Chart {
	marks := slices.DeleteFunc(slices.Clone(history.Marks), func(mark engine.RunMark) bool {
		return mark.Status != engine.StatusSucceeded && mark.Status != engine.StatusFailed
	})
	chart := spanChart(marks, history.Duration, zone, (*engine.RunMark).Took)
	chart.Name, chart.Words = "Duration", "No wave has ended yet."
	if history.Duration.Count > 0 {
		chart.Words = "how long each took, of the last " + templates.Plural(int64(history.Duration.Count), "wave", "waves")
	}
	for i := range chart.Dots {
		chart.Dots[i].Run, chart.Dots[i].Wave = "", chart.Dots[i].Run
	}
	for i := range chart.Outliers {
		chart.Outliers[i].Run, chart.Outliers[i].Wave = "", chart.Outliers[i].Run
	}
	return chart
}

// dagWaves lists all waves of a DAG.
func (u *UI) dagWaves(c echo.Context) error {
	ctx := c.Request().Context()
	dag, err := u.dagPages().read(c)
	if err != nil {
		return err
	}
	var view templates.DAGWaves
	view.Page, view.Head = u.dagPages().page(c, &dag, "")
	view.Page.Trail = []templates.Crumb{{Name: "DAGs", Href: "/dags"}, {Name: dag.Name, Href: "/dags/" + dag.Name}, {Name: "waves"}}
	cursor := c.QueryParam("cursor")
	waves, next, err := u.service.Waves(ctx, service.WaveQuery{Namespace: namespaceOf(ctx), DAG: dag.Name, Cursor: cursor, Limit: runsPerPage})
	if err != nil {
		return err
	}
	view.Waves, view.Pager, view.Live = viewWaveRows(waves), pager(c, cursor, next), here(c)
	return u.show(c, templates.DAGWavesPage(view), templates.DAGWavesPart(view))
}
