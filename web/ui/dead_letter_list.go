package ui

import (
	"context"
	"errors"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const lettersPerPage = 50

func (u *UI) deadLetterList(c echo.Context) error {
	ctx := c.Request().Context()
	view := templates.DeadLetters{Page: u.lettersPage(c, "Dead letters", ""), Job: c.QueryParam("job")}
	if n, err := strconv.Atoi(c.QueryParam(noticeCount)); err == nil && n > 0 {
		if c.QueryParam(noticeParameter) == lettersReplay {
			view.Page.Notice = templates.LettersReplayed(n)
		}
	}
	filter := service.DeadLetterFilter{Namespace: namespaceOf(ctx), Job: view.Job, Cursor: c.QueryParam("cursor"), Limit: lettersPerPage}
	letters, next, err := u.service.DeadLetters(ctx, filter)
	if errors.Is(err, engine.ErrCursor) {
		view.Problem = "That page of the list no longer exists; this is the first page."
		filter.Cursor = ""
		letters, next, err = u.service.DeadLetters(ctx, filter)
	}
	if err != nil {
		return err
	}
	if view.Rows, err = u.letterRows(ctx, letters); err != nil {
		return err
	}
	removing, err := u.service.Removing(ctx, namespaceOf(ctx), service.RemovedDeadLetters)
	if err != nil {
		return err
	}
	for i := range view.Rows {
		view.Rows[i].Removing = removing[view.Rows[i].Run]
	}
	view.Count = templates.Plural(int64(len(letters)), "run", "runs") + ", the newest first"
	if next != "" || filter.Cursor != "" {
		sum, err := u.service.SumDeadLetters(ctx, service.DeadLetterFilter{Namespace: namespaceOf(ctx), Job: view.Job})
		if err != nil {
			return err
		}
		view.Count = many(len(sum.Letters), sum.More) + " runs, the newest first"
	}
	view.Pager = pager(c, filter.Cursor, next)
	if filter.Cursor == "" {
		view.Live = here(c)
	}
	return u.show(c, templates.DeadLettersPage(view), templates.DeadLettersPart(view))
}

// lettersPage makes the frame of the list of dead letters, or of a page below it, which act names.
func (u *UI) lettersPage(c echo.Context, title, act string) templates.Page {
	page := u.page(c, templates.SectionRuns, title)
	page.Trail = []templates.Crumb{{Name: "Runs", Href: "/runs"}, {Name: "Dead letters"}}
	if act != "" {
		page.Trail[1].Href = "/dead-letters"
		page.Trail = append(page.Trail, templates.Crumb{Name: act})
	}
	return page
}

// letterRows shows dead letters, and of tasks the waves that they are of.
func (u *UI) letterRows(ctx context.Context, letters []engine.DeadLetter) ([]templates.DeadLetterRow, error) {
	ids := make([]string, len(letters))
	for i := range letters {
		ids[i] = letters[i].RunID
	}
	runs, err := u.service.RunsOf(ctx, namespaceOf(ctx), ids)
	if err != nil {
		return nil, err
	}
	rows := make([]templates.DeadLetterRow, len(letters))
	for i := range letters {
		letter := &letters[i]
		rows[i] = templates.DeadLetterRow{
			Run: letter.RunID, Job: letter.Job, Error: readable([]byte(letter.Error)), Attempts: letter.Attempts, At: letter.At,
		}
		if run, known := runs[letter.RunID]; known {
			rows[i].Of = waveRun(&run)
		}
	}
	return rows, nil
}
