package ui

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// tabParameter carries which view of the tasks is shown.
const tabParameter = "tab"

// lost is the state of a task whose run is not kept any more.
const lost = "not kept"

// waveStates are the states of tasks in the order in which they are counted.
var waveStates = []dag.State{dag.Failed, dag.UpstreamFailed, dag.Running, dag.Ready, dag.Waiting, dag.Succeeded, dag.Skipped, dag.Cancelled}

func (u *UI) waveShow(c echo.Context) error {
	ctx := c.Request().Context()
	detail, err := u.wave(ctx, c.Param("id"))
	if err != nil {
		return leadElsewhere(c, err)
	}
	view, err := u.viewWave(ctx, c, detail)
	if err != nil {
		return err
	}
	return u.show(c, templates.WavePage(view), templates.WavePart(view))
}

func (u *UI) viewWave(ctx context.Context, c echo.Context, detail *service.WaveDetail) (templates.Wave, error) {
	wave := &detail.Wave
	view := u.waveFrame(c, wave)
	living, err := u.service.DAGs.Get(ctx, namespaceOf(ctx), wave.DAG)
	view.DAGGone = err != nil || living.UID != wave.DAGUID
	view.CanResume = view.CanResume && !view.DAGGone
	if view.Before, view.After, err = u.service.Neighbours(ctx, wave); err != nil {
		return view, err
	}
	if !view.DAGGone {
		if view.Waits, err = u.waits(ctx, &living, detail); err != nil {
			return view, err
		}
	}
	critical := map[int]bool{}
	for _, task := range detail.Critical {
		critical[task] = true
	}
	view.Critical = criticalWords(detail)
	u.countTasks(c, detail, &view)
	if err := u.fillTasks(ctx, c, detail, critical, &view); err != nil {
		return view, err
	}
	view.Graph, view.View = u.waveGraph(detail, critical), c.QueryParam(tabParameter)
	return view, nil
}

// waveFrame is what a wave itself says.
func (u *UI) waveFrame(c echo.Context, wave *engine.Wave) templates.Wave {
	view := templates.Wave{
		Page: u.wavePage(c, wave, ""), ID: wave.ID, DAG: wave.DAG, Epoch: wave.Epoch, Status: wave.Status.String(), Ended: wave.Status.Terminal(), Live: here(c),
		Reason: readable([]byte(wave.Reason)), Trigger: triggerName(wave), By: byWhom(wave.Trigger, wave.By), CancelBy: wave.CancelBy, Resumed: wave.Resumed,
		Slot: wave.Slot, Generation: wave.Generation, Created: wave.CreatedAt, Started: wave.StartedAt, Finished: wave.FinishedAt, Rested: rested(wave),
		CanCancel: !wave.Status.Terminal() && wave.CancelBy == "",
		CanResume: wave.Epoch > 0 && (wave.Status == engine.StatusFailed || wave.Status == engine.StatusCancelled),
	}
	if wave.Reason == "" && wave.CancelBy != "" {
		view.Reason = "cancelled by " + wave.CancelBy
	}
	for _, root := range sortedSlots(wave.Slots) {
		view.Slots = append(view.Slots, templates.WaveSlot{Root: root, At: wave.Slots[root]})
	}
	view.Payload = indented(wave.Payload)
	for _, name := range sortedKeys(wave.Args) {
		view.Args = append(view.Args, templates.Fact{Name: name, Value: wave.Args[name]})
	}
	return view
}

func (u *UI) wavePage(c echo.Context, wave *engine.Wave, below string) templates.Page {
	name := "upcoming wave"
	if wave.Epoch > 0 {
		name = "wave " + strconv.FormatInt(wave.Epoch, 10)
	}
	page := u.page(c, templates.SectionDAGs, wave.DAG+", "+name)
	page.Trail = []templates.Crumb{{Name: "DAGs", Href: "/dags"}, {Name: wave.DAG, Href: "/dags/" + wave.DAG}, {Name: name}}
	if below != "" {
		page.Title = below
		page.Trail[2].Href = "/waves/" + wave.ID
		page.Trail = append(page.Trail, templates.Crumb{Name: below})
	}
	return page
}

func sortedSlots(slots map[string]time.Time) []string {
	roots := make([]string, 0, len(slots))
	for root := range slots {
		roots = append(roots, root)
	}
	slices.SortFunc(roots, func(a, b string) int {
		if order := slots[a].Compare(slots[b]); order != 0 {
			return order
		}
		return strings.Compare(a, b)
	})
	return roots
}

// waits says what a wave waits for: another wave, or the slots of its roots.
func (u *UI) waits(ctx context.Context, d *engine.DAG, detail *service.WaveDetail) (waits []templates.WaveWait, err error) {
	wave := &detail.Wave
	switch {
	case wave.Status == engine.StatusScheduled:
		histories, err := u.service.Histories(ctx, []engine.DAG{*d}, wavesLooked)
		if err != nil {
			return nil, err
		}
		for i := range histories[0].Waves {
			if open := &histories[0].Waves[i]; open.Status == engine.StatusRunning {
				waits = append(waits, templates.WaveWait{Words: fmt.Sprintf("Wave %d, which is running: waves of one DAG never overlap", open.Epoch), Href: "/waves/" + open.ID})
			}
		}
		if len(waits) == 0 {
			waits = append(waits, templates.WaveWait{Words: "The engine, which starts it in a moment"})
		}
		return waits, nil
	case wave.Status != engine.StatusRunning:
		return nil, nil
	}
	for _, root := range service.ScheduledRoots(d) {
		task, known := detail.Task(d.Spec.Tasks[root].Name)
		if !known || task.State != dag.Waiting || len(waits) == rootsShown {
			continue
		}
		words := "The slot of root " + task.Name
		slots, _, err := u.service.RootSlots(d, root, 1)
		switch {
		case err != nil:
			return nil, err
		case d.Paused:
			words += ": the DAG is paused, so it fires only once the DAG is resumed"
			waits = append(waits, templates.WaveWait{Words: words})
		case len(slots) > 0:
			waits = append(waits, templates.WaveWait{Words: words, At: slots[0].Slot})
		}
	}
	return waits, nil
}

// criticalWords says which way through the tasks took longest.
func criticalWords(detail *service.WaveDetail) string {
	if len(detail.Critical) == 0 {
		return ""
	}
	const shown = 6
	var names []string
	for _, task := range detail.Critical {
		names = append(names, detail.Tasks[task].Name)
	}
	if len(names) > shown {
		names = append(append(names[:shown/2:shown/2], fmt.Sprintf("%d more", len(names)-shown)), names[len(names)-shown/2:]...)
	}
	return "Critical path: " + strings.Join(names, " → ") + ", " + templates.Span(detail.CriticalTime)
}

func stateName(task *service.WaveTask) string {
	switch {
	case !task.State.Valid():
		return lost
	case task.State == dag.Running && task.Status != engine.StatusInvalid && task.Status != engine.StatusScheduled:
		return task.Status.String() // queued, running or retrying
	case task.State == dag.Failed && task.Status.Terminal():
		return task.Status.String() // failed, timed out, lost or dead
	}
	return task.State.String()
}

// countTasks says how many tasks are in each state, and reads what the table is narrowed to.
func (u *UI) countTasks(c echo.Context, detail *service.WaveDetail, view *templates.Wave) {
	counts := detail.Counts()
	view.Filter = templates.WaveFilter{State: c.QueryParam("state"), Text: strings.TrimSpace(c.QueryParam("q"))}
	address := func(state string) string {
		query := url.Values{tabParameter: {"table"}}
		if state != "" {
			query.Set("state", state)
		}
		if view.Filter.Text != "" {
			query.Set("q", view.Filter.Text)
		}
		return "/waves/" + view.ID + "?" + query.Encode() + "#tasks"
	}
	known := false
	for _, state := range waveStates {
		if counts[state] == 0 && view.Filter.State != state.String() {
			continue
		}
		known = known || view.Filter.State == state.String()
		view.Counts = append(view.Counts, templates.WaveCount{
			State: state.String(), N: counts[state], Href: address(state.String()), Chosen: view.Filter.State == state.String(),
		})
	}
	if !known {
		view.Filter.State = ""
	}
	view.All = templates.WaveCount{N: len(detail.Tasks), Href: address(""), Chosen: view.Filter.State == ""}
}
