package ui

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// waveClearForm asks how a task is run again.
func (u *UI) waveClearForm(c echo.Context) error {
	return u.waveClearing(c, http.StatusOK, templates.WaveClearing{Task: c.QueryParam("task"), Item: c.QueryParam("item"), What: "after"})
}

func (u *UI) waveClear(c echo.Context) error {
	ctx := c.Request().Context()
	asked := templates.WaveClearing{
		Task: c.FormValue("task"), Item: c.FormValue("item"), What: c.FormValue("what"), Payload: c.FormValue("payload"), Variables: c.FormValue("variables"),
	}
	request, problem := clearOf(c, &asked)
	if problem == "" {
		_, err := u.service.ClearTask(ctx, namespaceOf(ctx), c.Param("id"), request, service.Actor(ctx))
		if err == nil {
			return done(c, "/waves/"+c.Param("id"), "cleared")
		}
		var known *service.Error
		if problem = refused(err); problem == "" && errors.As(err, &known) && known.Kind == service.KindConflict {
			problem = known.Detail
		}
		if problem == "" {
			return err
		}
	}
	asked.Problem = problem
	return u.waveClearing(c, http.StatusUnprocessableEntity, asked)
}

// clearOf reads what is asked; problem says what of it cannot be read.
func clearOf(c echo.Context, asked *templates.WaveClearing) (request service.Clear, problem string) {
	start, problem := startOf(c)
	request = service.Clear{Task: asked.Task, Alone: asked.What == "alone", Args: start.Args, Payload: start.Payload}
	if asked.Item != "" {
		item, err := strconv.Atoi(asked.Item)
		if err != nil {
			asked.Item, problem = "", "An item is a number."
		}
		request.Item = &item
	}
	return request, problem
}

func (u *UI) waveClearing(c echo.Context, status int, view templates.WaveClearing) error {
	detail, err := u.wave(c.Request().Context(), c.Param("id"))
	if err != nil {
		return err
	}
	at, known := detail.Graph.Index(view.Task)
	if !known {
		return echo.NewHTTPError(http.StatusNotFound, "This wave has no task of this name.")
	}
	title := "Run " + view.Task + " again"
	if view.Item != "" {
		title = "Run item " + view.Item + " of " + view.Task + " again"
	}
	view.After = len(detail.Graph.Downstream(at))
	if view.After == 0 {
		view.What = "alone"
	}
	view.Page, view.ID, view.State = u.wavePage(c, &detail.Wave, title), detail.Wave.ID, stateName(&detail.Tasks[at])
	view.Mapped = detail.Tasks[at].Items != nil
	return u.render(c, status, templates.WaveClearPage(view))
}
