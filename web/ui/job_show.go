package ui

import (
	"fmt"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
)

const (
	slotsShown  = 5
	runsShown   = 10
	ledgerShown = 12
)

func (u *UI) jobShow(c echo.Context) error {
	ctx := c.Request().Context()
	job, err := u.service.Job(ctx, namespace, c.Param("name"))
	if err != nil {
		return err
	}
	view := u.viewJob(c, &job)

	slots, words, err := u.service.NextSlots(ctx, namespace, job.Name, time.Time{}, slotsShown)
	if err != nil {
		return err
	}
	view.Schedule, view.Next = words, viewSlots(slots)

	runs, _, err := u.service.Runs(ctx, engine.RunFilter{Namespace: namespace, JobUID: job.UID, Limit: runsShown})
	if err != nil {
		return fmt.Errorf("list runs of job %s: %w", job.Name, err)
	}
	view.Runs = viewRuns(runs)

	entries, more, err := u.service.Ledger(ctx, namespace, job.Name, view.Page.Now.Add(-24*time.Hour), time.Time{}, ledgerShown)
	if err != nil {
		return err
	}
	view.LedgerMore = more
	for _, e := range entries {
		row := templates.LedgerRow{From: e.From, To: e.To, Count: e.Count, Outcome: e.Outcome, Reason: reasonWords(e.Reason), Run: e.Run}
		if e.Run != "" {
			row.Status = e.Status.String()
		}
		view.Ledger = append(view.Ledger, row)
	}
	if refreshes(c) {
		return u.show(c, nil, templates.JobPart(view))
	}

	definition, err := spec.Encode(&job.Spec)
	if err != nil {
		return err
	}
	view.Definition = string(definition)
	generations, err := u.service.Generations(ctx, namespace, job.Name)
	if err != nil {
		return err
	}
	for i := range generations {
		g := &generations[i]
		view.Generations = append(view.Generations, templates.Generation{N: g.Generation, At: g.At, By: g.By, Message: g.Message})
	}
	return u.show(c, templates.JobPage(view), nil)
}

func (u *UI) viewJob(c echo.Context, job *engine.Job) templates.Job {
	page := u.page(c, templates.SectionJobs, job.Name)
	return templates.Job{
		Page: page, Name: job.Name, Description: job.Spec.Description,
		Paused: job.Paused, PausedAt: job.PausedAt, PausedBy: job.PausedBy, Pending: job.Pending,
		Binary: job.Spec.Binary, BinaryName: binaryName(job.Spec.Binary), Facts: jobFacts(&job.Spec),
		Created: job.CreatedAt, CreatedBy: job.CreatedBy, Updated: job.UpdatedAt, UpdatedBy: job.UpdatedBy,
		// The same for a page, another for the next: pressing the button twice asks for one run.
		RunKey: "page-" + strconv.FormatInt(page.Now.UnixNano(), 36), Live: "/jobs/" + job.Name,
	}
}

// jobFacts are what of a definition is asked about most; the definition itself says the rest.
func jobFacts(job *spec.Job) []templates.Fact {
	facts := []templates.Fact{
		{Name: "Tier", Value: string(job.Tier) + ", " + string(job.Class)},
		{Name: "Timeout", Value: job.Timeout.String()},
		{Name: "Attempts", Value: attemptsWords(job.Retry)},
	}
	if !job.Manual() {
		facts = append(facts,
			templates.Fact{Name: "Overlap", Value: string(job.Overlap)},
			templates.Fact{Name: "Catch-up", Value: catchUpWords(job.CatchUp)})
	}
	return facts
}

func attemptsWords(retry spec.Retry) string {
	if retry.MaxAttempts <= 1 {
		return "1: a failed run is not tried again"
	}
	return fmt.Sprintf("up to %d, waiting at most %s to %s", retry.MaxAttempts, retry.Delay, retry.MaxDelay)
}

func catchUpWords(catchUp spec.CatchUp) string {
	if catchUp.Policy == spec.CatchUpNone {
		return "none"
	}
	if catchUp.Window > 0 {
		return fmt.Sprintf("%s, of the %s before", catchUp.Policy, catchUp.Window)
	}
	return string(catchUp.Policy)
}

func viewSlots(slots []cron.Slot) []templates.Slot {
	views := make([]templates.Slot, len(slots))
	for i, slot := range slots {
		views[i] = templates.Slot{At: slot.Slot, Note: slot.Note}
	}
	return views
}
