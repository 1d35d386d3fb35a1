package ui

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// What can be done to dead letters: to one, which the parameter run names, or to all that match.
const (
	lettersReplay = "replay"
	lettersPurge  = "purge"
)

func (u *UI) deadLettersReplayForm(c echo.Context) error { return u.lettersAsk(c, lettersReplay) }
func (u *UI) deadLettersPurgeForm(c echo.Context) error  { return u.lettersAsk(c, lettersPurge) }
func (u *UI) deadLettersReplay(c echo.Context) error     { return u.lettersDo(c, lettersReplay) }
func (u *UI) deadLettersPurge(c echo.Context) error      { return u.lettersDo(c, lettersPurge) }

func (u *UI) lettersAct(c echo.Context, act string) templates.DeadLetterAct {
	title := map[string]string{lettersReplay: "Try dead runs again", lettersPurge: "Purge dead letters"}[act]
	crumb := map[string]string{lettersReplay: "Try again", lettersPurge: "Purge"}[act]
	return templates.DeadLetterAct{Page: u.lettersPage(c, title, crumb), Act: act}
}

// lettersAsk says how many it would be done to.
func (u *UI) lettersAsk(c echo.Context, act string) error {
	ctx := c.Request().Context()
	view := u.lettersAct(c, act)
	view.Job, view.Run = c.QueryParam("job"), c.QueryParam("run")
	if view.Run != "" {
		letter, err := u.service.DeadLetter(ctx, namespaceOf(ctx), view.Run)
		if notFound(err) {
			return u.render(c, http.StatusNotFound, templates.DeadLetterActPage(view))
		}
		if err != nil {
			return err
		}
		rows, err := u.letterRows(ctx, []engine.DeadLetter{letter})
		if err != nil {
			return err
		}
		view.Count, view.Single, view.Tasks = 1, &rows[0], rows[0].Of.DAG != ""
		return u.render(c, http.StatusOK, templates.DeadLetterActPage(view))
	}
	sum, err := u.service.SumDeadLetters(ctx, service.DeadLetterFilter{Namespace: namespaceOf(ctx), Job: view.Job})
	if err != nil {
		return err
	}
	view.Count, view.More, view.Oldest = len(sum.Letters), sum.More, sum.Oldest
	if view.Count > 0 { // by the clock of the node that wrote it
		view.Until = sum.Letters[0].At.Format(time.RFC3339Nano)
	}
	for _, of := range sum.Of {
		view.Of = append(view.Of, templates.DeadLettersOf{Job: of.Job, Href: templates.OwnerHref(of.Job), Count: of.Count})
		view.Tasks = view.Tasks || strings.Contains(of.Job, "/")
	}
	return u.render(c, http.StatusOK, templates.DeadLetterActPage(view))
}

func notFound(err error) bool {
	var known *service.Error
	return errors.As(err, &known) && known.Kind == service.KindNotFound
}

// lettersDo does it to those that the question counted: what has died since stays.
func (u *UI) lettersDo(c echo.Context, act string) error {
	ctx := c.Request().Context()
	view := u.lettersAct(c, act)
	view.Job, view.Run = c.FormValue("job"), c.FormValue("run")
	if act == lettersPurge {
		return u.lettersRemove(c, view.Job, view.Run, c.FormValue("until"))
	}
	handled, err := u.replayLetters(ctx, view.Job, view.Run, c.FormValue("until"))
	if err != nil {
		return err
	}
	view.Handled, view.Done = true, len(handled.Done)
	if len(handled.Refused) == 0 {
		query := url.Values{noticeParameter: {act}, noticeCount: {strconv.Itoa(view.Done)}}
		if view.Job != "" {
			query.Set("job", view.Job)
		}
		return c.Redirect(http.StatusSeeOther, "/dead-letters?"+query.Encode())
	}
	letters := make([]engine.DeadLetter, len(handled.Refused))
	for i := range handled.Refused {
		letters[i] = handled.Refused[i].Letter
	}
	rows, err := u.letterRows(ctx, letters)
	if err != nil {
		return err
	}
	for i := range rows {
		view.Refused = append(view.Refused, templates.DeadLetterRefused{DeadLetterRow: rows[i], Why: sentence(handled.Refused[i].Detail)})
	}
	return u.render(c, http.StatusConflict, templates.DeadLetterActPage(view))
}

// lettersRemove purges those that the question counted; that some are gone already is no reason to complain.
func (u *UI) lettersRemove(c echo.Context, job, run, until string) error {
	ctx, list := c.Request().Context(), "/dead-letters"
	if job != "" {
		list += "?" + url.Values{"job": {job}}.Encode()
	}
	names := []string{run}
	if run == "" {
		filter, err := lettersFilter(ctx, job, until)
		if err != nil {
			return err
		}
		sum, err := u.service.SumDeadLetters(ctx, filter)
		if err != nil {
			return err
		}
		names = names[:0]
		for i := range sum.Letters {
			names = append(names, sum.Letters[i].RunID)
		}
	}
	err := error(nil)
	if len(names) > 0 {
		err = u.remove(c, service.RemovedDeadLetters, names, list)
	}
	if len(names) == 0 || notFound(err) {
		return c.Redirect(http.StatusSeeOther, list)
	}
	return err
}

func lettersFilter(ctx context.Context, job, until string) (service.DeadLetterFilter, error) {
	filter := service.DeadLetterFilter{Namespace: namespaceOf(ctx), Job: job}
	if until != "" {
		at, err := time.Parse(time.RFC3339Nano, until)
		if err != nil {
			return service.DeadLetterFilter{}, &service.Error{
				Kind: service.KindInvalid, Code: "invalid_request", Detail: "this form was not made by this server: open it again", Err: err,
			}
		}
		filter.Until = at
	}
	return filter, nil
}

func (u *UI) replayLetters(ctx context.Context, job, run, until string) (service.DeadLettersHandled, error) {
	if run != "" {
		return u.replayLetter(ctx, run)
	}
	filter, err := lettersFilter(ctx, job, until)
	if err != nil {
		return service.DeadLettersHandled{}, err
	}
	return u.service.ReplayDeadLetters(ctx, filter, service.Actor(ctx))
}

// replayLetter replays one. That it is gone already is no reason to complain.
func (u *UI) replayLetter(ctx context.Context, run string) (service.DeadLettersHandled, error) {
	letter, err := u.service.DeadLetter(ctx, namespaceOf(ctx), run)
	if notFound(err) {
		return service.DeadLettersHandled{}, nil
	}
	if err != nil {
		return service.DeadLettersHandled{}, err
	}
	_, err = u.service.ReplayDeadLetter(ctx, namespaceOf(ctx), run, service.Actor(ctx))
	var known *service.Error
	switch {
	case errors.As(err, &known):
		return service.DeadLettersHandled{Refused: []service.DeadLetterRefused{{Letter: letter, Code: known.Code, Detail: known.Detail}}}, nil
	case err != nil:
		return service.DeadLettersHandled{}, err
	}
	return service.DeadLettersHandled{Done: []string{run}}, nil
}
