package ui

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// stopPolling is the status by which htmx takes an answer as the last.
const stopPolling = 286

func (u *UI) runShow(c echo.Context) error {
	ctx := c.Request().Context()
	id := c.Param("id")
	asked, _ := strconv.Atoi(c.QueryParam("attempt")) // what is no number asks for the latest
	if refreshes(c) {
		run, err := u.service.Run(ctx, namespaceOf(ctx), id)
		if err != nil {
			return err
		}
		view := u.viewRun(c, &run)
		if err := u.addContext(ctx, &run, &view); err != nil {
			return err
		}
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

	log, err := u.service.OpenLog(ctx, namespaceOf(ctx), id, max(asked, 0))
	if err != nil {
		return leadElsewhere(c, err)
	}
	view := u.viewRun(c, &log.Run)
	view.ShownAttempt = log.Attempt
	view.Live = runPart(&log.Run, log.Attempt, asked <= 0)
	if view.Output, err = u.showOutput(c, log); err != nil {
		return err
	}
	if err := u.addContext(ctx, &log.Run, &view); err != nil {
		return err
	}
	if view.Before, view.After, err = u.service.RunNeighbours(ctx, &log.Run); err != nil {
		return err
	}
	return u.show(c, templates.RunPage(view), nil)
}

// lastLinesShown is how many lines of the output stand beside the reason of a failure.
const lastLinesShown = 3

// addContext adds what the run itself does not hold: the definition as it was, its effects, and the way to the last good run.
func (u *UI) addContext(ctx context.Context, run *engine.Run, view *templates.Run) error {
	definition, known, err := u.service.DefinitionOf(ctx, run)
	if err != nil {
		return err
	}
	view.Definition = viewDefinition(run, &definition, known)
	view.Unserved = u.service.UnschedulableReason(ctx, run)
	if view.Effects, err = u.viewEffects(ctx, run); err != nil {
		return err
	}
	view.Happens, view.TryOf = happens(run, definition.Spec.Retry.MaxAttempts)
	if run.Status == engine.StatusFailed || run.Status == engine.StatusTimedOut || run.Status == engine.StatusDead {
		view.LastLines = run.LastLines(lastLinesShown)
	}
	if run.Status.Terminal() && run.Status != engine.StatusSucceeded && run.Status != engine.StatusSkipped {
		_, found, err := u.service.LastGoodRun(ctx, run)
		if err != nil {
			return err
		}
		if found {
			view.LastGood = diffURL(service.LastGood, run.ID, false)
		}
	}
	return nil
}

// showOutput is the output as the address asks for it: around a line, with what a search finds, or its end.
func (u *UI) showOutput(c echo.Context, log *service.Log) (out templates.Output, err error) {
	ctx := c.Request().Context()
	line, _ := strconv.ParseInt(c.QueryParam("line"), 10, 64) // what is no number asks for the end
	search, asked := outputSearch(c)
	var found service.LogMatches
	if asked && log.Attempt > 0 {
		if found, err = log.Search(ctx, search); err != nil {
			return out, err
		}
		if search.Errors && line <= 0 && len(found.Matches) > 0 {
			line = found.Matches[0].Line
		}
	}
	if line > 0 {
		line = max(1, min(line, log.Lines)-templates.ContextLines)
	}
	if out, err = viewOutput(ctx, log, line); err != nil {
		return out, err
	}
	if asked && log.Attempt > 0 {
		out.Find, out.Found = search.Text, viewFound(&out, search, found)
	}
	return out, nil
}

// runPart is where the part of the page that refreshes is fetched again; latest tells that the reader asked for no
// attempt in particular.
func runPart(run *engine.Run, shown int, latest bool) string {
	// A task runs again where its wave is resumed, or where it is cleared.
	mayGoOn := run.Status.CanRetry() || run.DAG != ""
	if run.Status.Terminal() && shown == run.Attempt && !mayGoOn {
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
		Page: u.page(c, runSection(run), "Run of "+run.Label()), ID: run.ID, Job: run.Job, Of: waveRun(run), Status: run.Status.String(),
		Reason: reason(run), Trigger: triggerWords(run), By: byWhom(run.Trigger, run.By), Slot: run.Slot, Created: run.CreatedAt,
		Queued: queued(run), Started: begun(run), RetryAt: run.RetryAt, Lag: lag(run), Ended: run.Status.Terminal(),
		Tier: string(run.Tier), Class: string(run.Class), RunsOn: labelList(run.RunsOn), Binary: run.Binary, BinaryName: binaryName(run.Binary),
		Version: run.Version, Digest: run.Digest, Payload: indented(run.Payload), NotRun: notRun(run),
		CanCancel: !run.Status.Terminal() && run.CancelBy == "", CanRetry: run.Status.CanRetry(),
		Cancelling: !run.Status.Terminal() && run.CancelBy != "",
	}
	view.Compare, view.SearchAll = "/runs/diff?"+url.Values{"b": {run.ID}}.Encode(), outputsURL(run.Job, run.DAG, run.Task)
	if run.DAG == "" {
		view.SearchAll, view.Again = outputsURL(run.Job, "", ""), "/jobs/"+url.PathEscape(run.Job)+"/run?"+url.Values{"from": {run.ID}}.Encode()
	}
	trace := engine.TraceID(run.ID)
	view.Trace = hex.EncodeToString(trace[:])
	if u.config.TraceURL != "" {
		view.TraceURL = strings.ReplaceAll(u.config.TraceURL, "{trace}", view.Trace)
	}
	if last := run.Current(); last != nil && last.ExitCode != nil && view.Reason == fmt.Sprintf("exit %d", *last.ExitCode) {
		view.Reason = exitWords(last)
	}
	if view.Ended {
		view.Finished = run.FinishedAt
	} else {
		view.Progress = viewProgress(run.Progress)
	}
	if view.CanRetry && run.Status == engine.StatusCancelled {
		view.HurtsRetry = "This run was cancelled. Try it again anyway?"
	}
	for _, name := range slices.Sorted(maps.Keys(run.Args)) {
		value := run.Args[name]
		if service.LooksSecret(name, value) {
			value = hiddenValue
		}
		view.Args = append(view.Args, templates.Fact{Name: name, Value: value})
	}
	view.Left = viewLeft(run)
	times := phases(run, u.now())
	for i := range run.Attempts {
		attempt := viewAttempt(run, &run.Attempts[i])
		attempt.Phases = times[i]
		view.Attempts = append(view.Attempts, attempt)
	}
	return view
}

// notRun leads to the ledger around a run that was made and never executed.
func notRun(run *engine.Run) string {
	if run.Slot.IsZero() || !run.StartedAt.IsZero() || run.Status != engine.StatusSkipped && run.Status != engine.StatusCancelled {
		return ""
	}
	if run.DAG != "" {
		return "/dags/" + run.DAG + "/slots"
	}
	return "/jobs/" + run.Job + "/slots"
}

// queued is when a run first waited for an executor; the run itself remembers the latest time.
func queued(run *engine.Run) time.Time {
	if len(run.Attempts) > 0 && !run.Attempts[0].QueuedAt.IsZero() {
		return run.Attempts[0].QueuedAt
	}
	return run.QueuedAt
}

func viewAttempt(run *engine.Run, a *engine.Attempt) templates.Attempt {
	view := templates.Attempt{
		N: a.N, Status: a.Status.String(), Executor: a.Executor, Started: a.StartedAt, Error: a.Error, Exit: capital(attemptWords(run, a)),
	}
	if view.Started.IsZero() && !a.Status.Terminal() {
		view.Started = a.ClaimedAt
	}
	if a.Status.Terminal() && !a.StartedAt.IsZero() {
		view.Took = templates.Span(a.FinishedAt.Sub(a.StartedAt))
	}
	if a.Usage != nil {
		view.CPU = templates.Span(a.Usage.CPU)
		if a.Usage.MaxRSS > 0 { // too short a life to be measured
			view.Memory = templates.Size(a.Usage.MaxRSS)
		}
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
