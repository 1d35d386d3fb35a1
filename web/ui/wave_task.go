package ui

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// itemsInPanel is how many items of a mapped task are listed at once.
const itemsInPanel = 50

// waveTask shows one task of a wave, or an item of a mapped one: how it stands, what can be done, its attempts and its
// output. The page of the wave shows it at its side; part=head asks for what refreshes.
func (u *UI) waveTask(c echo.Context) error {
	ctx := c.Request().Context()
	detail, err := u.wave(ctx, c.Param("id"))
	if err != nil {
		return leadElsewhere(c, err)
	}
	name := c.QueryParam("name")
	at, known := detail.Graph.Index(name)
	if !known {
		return echo.NewHTTPError(http.StatusNotFound, "This wave has no task of this name.")
	}
	view := u.viewWaveTask(c, detail, at)
	run := detail.Tasks[at].Run
	if item, err := strconv.Atoi(c.QueryParam("item")); err == nil && item >= 0 {
		run = engine.ItemRunID(detail.Wave.ID, item, name)
		view.Item, view.Items = fmt.Sprintf("item %d", item), nil
	} else if items := detail.Tasks[at].Items; items != nil {
		run = ""
		if view.Items, err = u.panelItems(ctx, c, detail, at); err != nil {
			return err
		}
	}
	if run != "" {
		if err := u.addTaskRun(c, &view, run); err != nil {
			return err
		}
	}
	if refreshes(c) && c.QueryParam("part") == "head" {
		return u.render(c, http.StatusOK, templates.WaveTaskHead(view))
	}
	return u.show(c, templates.WaveTaskPage(view), templates.WaveTaskPart(view))
}

func (u *UI) viewWaveTask(c echo.Context, detail *service.WaveDetail, at int) templates.WaveTask {
	task, wave := &detail.Tasks[at], &detail.Wave
	view := templates.WaveTask{
		Page: u.wavePage(c, wave, task.Name), Wave: wave.ID, Epoch: wave.Epoch, DAG: wave.DAG, Name: task.Name, State: stateName(task),
		Reason: readable([]byte(task.Reason)), Started: task.Started, Finished: task.Finished, Since: since(wave, task.Started),
		CanMark: canMark(wave, task), CanClear: wave.Epoch > 0 && wave.Status.Terminal() && task.State.Valid(), Address: taskAddress(wave.ID, task.Name, c.QueryParam("item")),
		CanResume: wave.Epoch > 0 && (wave.Status == engine.StatusFailed || wave.Status == engine.StatusCancelled),
	}
	if !task.Started.IsZero() && !task.Finished.IsZero() {
		view.Took = templates.Span(task.Took(task.Finished))
	}
	if task.Items != nil {
		view.Counts = itemCounts(task.Items)
	}
	definition := &detail.Spec.Tasks[at]
	view.Needs = neighbours(wave.ID, definition.Needs)
	for i := range detail.Spec.Tasks {
		for _, need := range detail.Spec.Tasks[i].Needs {
			if need == task.Name && len(view.Before) < neighboursShown {
				view.Before = append(view.Before, neighbours(wave.ID, []string{detail.Spec.Tasks[i].Name})...)
			}
		}
	}
	return view
}

const neighboursShown = 12

func neighbours(wave string, names []string) (crumbs []templates.Crumb) {
	for _, name := range names[:min(len(names), neighboursShown)] {
		crumbs = append(crumbs, templates.Crumb{Name: name, Href: taskAddress(wave, name, "")})
	}
	return crumbs
}

func taskAddress(wave, task, item string) string {
	query := url.Values{"name": {task}}
	if item != "" {
		query.Set("item", item)
	}
	return "/waves/" + wave + "/task?" + query.Encode()
}

// addTaskRun adds what the run of a task, or of an item, says: its attempts and the output of one of them.
func (u *UI) addTaskRun(c echo.Context, view *templates.WaveTask, id string) error {
	ctx := c.Request().Context()
	asked, _ := strconv.Atoi(c.QueryParam("attempt")) // what is no number asks for the latest
	log, err := u.service.OpenLog(ctx, namespaceOf(ctx), id, max(asked, 0))
	if err != nil {
		return err
	}
	run := u.viewRun(c, &log.Run)
	view.Run, view.Shown = &run, log.Attempt
	if view.Item != "" {
		view.State, view.Reason = run.Status, run.Reason
		view.Started, view.Finished, view.Since, view.Took = log.Run.StartedAt, run.Finished, log.Run.StartedAt, ""
		if run.Ended && !log.Run.StartedAt.IsZero() {
			view.Took = templates.Span(log.Run.FinishedAt.Sub(log.Run.StartedAt))
		}
		view.CanMark = false
	} else if view.Reason == "" && run.Ended {
		view.Reason = run.Reason
	}
	if c.QueryParam("part") == "head" {
		return nil
	}
	view.Output, err = u.showOutput(c, log)
	return err
}

// panelItems lists items of a mapped task, by pages: their runs have ids that are known.
func (u *UI) panelItems(ctx context.Context, c echo.Context, detail *service.WaveDetail, at int) ([]templates.ItemRow, error) {
	view, err := u.items(ctx, c, detail, at)
	if err != nil {
		return nil, err
	}
	return view.Rows[:min(len(view.Rows), itemsInPanel)], nil
}
