package ui

import (
	"context"
	"fmt"
	"net/url"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/errgroup"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
)

const jobsPerPage = 50

func (u *UI) jobList(c echo.Context) error {
	ctx := c.Request().Context()
	filter := engine.JobFilter{Namespace: namespace, Text: c.QueryParam("q"), Cursor: c.QueryParam("cursor"), Limit: jobsPerPage}
	jobs, next, err := u.service.Jobs(ctx, filter)
	if err != nil {
		return err
	}
	view := templates.Jobs{
		Page: u.page(c, templates.SectionJobs, "Jobs"), Text: filter.Text, Pager: pager(c, filter.Cursor, next), Live: here(c),
	}
	if view.Rows, err = u.jobRows(ctx, jobs); err != nil {
		return err
	}
	return u.show(c, templates.JobsPage(view), templates.JobsPart(view))
}

func (u *UI) jobRows(ctx context.Context, jobs []engine.Job) ([]templates.JobRow, error) {
	next, err := u.service.NextSlotsOf(ctx, jobs...)
	if err != nil {
		return nil, err
	}
	rows := make([]templates.JobRow, len(jobs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i := range jobs {
		job := &jobs[i]
		rows[i] = templates.JobRow{
			Name: job.Name, Description: job.Spec.Description, Schedule: scheduleWords(job), Binary: job.Spec.Binary,
			Next: next[job.UID], Paused: job.Paused,
		}
		group.Go(func() error {
			// Prepared runs of a slot to come say nothing of how the job does.
			runs, _, err := u.service.Runs(ctx, engine.RunFilter{Namespace: namespace, JobUID: job.UID, Limit: 3})
			if err != nil {
				return fmt.Errorf("list runs of job %s: %w", job.Name, err)
			}
			for r := range runs {
				if runs[r].Status != engine.StatusScheduled {
					row := viewRun(&runs[r])
					rows[i].Last = &row
					break
				}
			}
			return nil
		})
	}
	return rows, group.Wait()
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
			if name != "cursor" && name != noticeParameter && values[0] != "" {
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
	if len(query) == 0 {
		return c.Request().URL.Path
	}
	return c.Request().URL.Path + "?" + query.Encode()
}
