package ui

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
)

// stopPolling is the status by which htmx takes an answer as the last.
const stopPolling = 286

func (u *UI) runShow(c echo.Context) error {
	ctx := c.Request().Context()
	id := c.Param("id")
	asked, _ := strconv.Atoi(c.QueryParam("attempt")) // what is no number asks for the latest
	if refreshes(c) {
		run, err := u.service.Run(ctx, id)
		if err != nil {
			return err
		}
		view := u.viewRun(c, &run)
		view.ShownAttempt = asked
		if asked < run.Attempt && c.QueryParam("latest") != "" {
			view.Newer = run.Attempt
		}
		view.Live = runPart(&run, asked, c.QueryParam("latest") != "")
		if view.Live == "" {
			return u.render(c, stopPolling, templates.RunPart(view))
		}
		return u.show(c, nil, templates.RunPart(view))
	}

	log, err := u.service.OpenLog(ctx, id, max(asked, 0))
	if err != nil {
		return err
	}
	view := u.viewRun(c, &log.Run)
	view.ShownAttempt = log.Attempt
	view.Live = runPart(&log.Run, log.Attempt, asked <= 0)
	before, _ := strconv.ParseInt(c.QueryParam("before"), 10, 64) // what is no number asks for the end
	if view.Output, err = firstOutput(ctx, log, before); err != nil {
		return err
	}
	return u.show(c, templates.RunPage(view), nil)
}

// runPart is where the part of the page that refreshes is fetched again; latest tells that the reader asked for no
// attempt in particular.
func runPart(run *engine.Run, shown int, latest bool) string {
	if run.Status.Terminal() && shown == run.Attempt && !run.Status.CanRetry() {
		return "" // nothing more happens
	}
	address := "/runs/" + run.ID + "?attempt=" + strconv.Itoa(shown)
	if latest {
		address += "&latest=yes"
	}
	return address
}

func (u *UI) viewRun(c echo.Context, run *engine.Run) templates.Run {
	view := templates.Run{
		Page: u.page(c, templates.SectionRuns, "Run of "+run.Job), ID: run.ID, Job: run.Job, Status: run.Status.String(),
		Reason: reason(run), Trigger: triggerWords(run), By: run.By, Slot: run.Slot, Created: run.CreatedAt,
		Queued: queued(run), Started: begun(run), RetryAt: run.RetryAt, Lag: lag(run), Ended: run.Status.Terminal(),
		Tier: string(run.Tier), Class: string(run.Class), Binary: run.Binary, BinaryName: binaryName(run.Binary),
		Version: run.Version, Digest: run.Digest, Payload: indented(run.Payload),
		CanCancel: !run.Status.Terminal() && run.CancelBy == "", CanRetry: run.Status.CanRetry(),
		Cancelling: !run.Status.Terminal() && run.CancelBy != "",
	}
	if view.Ended {
		view.Finished = run.FinishedAt
	} else {
		view.Progress = viewProgress(run.Progress)
	}
	for _, name := range slices.Sorted(maps.Keys(run.Args)) {
		view.Args = append(view.Args, templates.Fact{Name: name, Value: run.Args[name]})
	}
	for i := range run.Attempts {
		view.Attempts = append(view.Attempts, viewAttempt(&run.Attempts[i]))
	}
	return view
}

// queued is when a run first waited for an executor; the run itself remembers the latest time.
func queued(run *engine.Run) time.Time {
	if len(run.Attempts) > 0 && !run.Attempts[0].QueuedAt.IsZero() {
		return run.Attempts[0].QueuedAt
	}
	return run.QueuedAt
}

func viewAttempt(a *engine.Attempt) templates.Attempt {
	view := templates.Attempt{N: a.N, Status: a.Status.String(), Executor: a.Executor, Started: a.StartedAt, Error: a.Error}
	if view.Started.IsZero() {
		view.Started = a.ClaimedAt
	}
	if a.Status.Terminal() && !a.StartedAt.IsZero() {
		view.Took = templates.Span(a.FinishedAt.Sub(a.StartedAt))
	}
	switch {
	case a.Signal != "":
		view.Exit = "signal " + a.Signal
	case a.ExitCode != nil:
		view.Exit = strconv.Itoa(*a.ExitCode)
	}
	if a.Usage != nil {
		view.CPU, view.Memory = templates.Span(a.Usage.CPU), templates.Size(a.Usage.MaxRSS)
	}
	if a.Output != nil {
		view.Output = templates.Size(a.Output.Size)
	}
	return view
}

// indented makes JSON readable; what is no JSON is shown as it is.
func indented(payload json.RawMessage) string {
	if len(payload) == 0 {
		return ""
	}
	var out bytes.Buffer
	if json.Indent(&out, payload, "", "  ") != nil {
		return readable(payload)
	}
	return readable(out.Bytes())
}
