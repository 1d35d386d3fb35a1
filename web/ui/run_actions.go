package ui

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// acted does something to a run or a wave, and shows its page again.
func acted[T any](page, notice string, do func(ctx context.Context, namespace, id, by string) (T, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx, id := c.Request().Context(), c.Param("id")
		if _, err := do(ctx, namespaceOf(ctx), id, service.Actor(ctx)); err != nil {
			return err
		}
		return done(c, page+id, notice)
	}
}

// waveMarkForm asks how a task is to count, and says what follows from it.
func (u *UI) waveMarkForm(c echo.Context) error {
	return u.waveMarking(c, http.StatusOK, c.QueryParam("task"), "", "")
}

func (u *UI) waveMark(c echo.Context) error {
	ctx := c.Request().Context()
	id, task, as := c.Param("id"), c.FormValue("task"), c.FormValue("as")
	status, err := engine.ParseStatus(as)
	if err != nil {
		return u.waveMarking(c, http.StatusUnprocessableEntity, task, as, "Choose how the task is to count.")
	}
	_, err = u.service.MarkTask(ctx, namespaceOf(ctx), id, task, status, service.Actor(ctx))
	var known *service.Error
	switch {
	case err == nil:
		return done(c, "/waves/"+id, "marked")
	case errors.As(err, &known) && (known.Kind == service.KindInvalid || known.Kind == service.KindConflict):
		return u.waveMarking(c, http.StatusUnprocessableEntity, task, as, known.Detail)
	}
	return err
}

func (u *UI) waveMarking(c echo.Context, status int, name, as, problem string) error {
	detail, err := u.wave(c.Request().Context(), c.Param("id"))
	if err != nil {
		return err
	}
	wave := &detail.Wave
	at, known := detail.Graph.Index(name)
	if !known {
		return echo.NewHTTPError(http.StatusNotFound, "This wave has no task of this name.")
	}
	return u.render(c, status, templates.WaveMarkPage(templates.WaveMarking{
		Page: u.wavePage(c, wave, "Mark "+name), ID: wave.ID, DAG: wave.DAG, Epoch: wave.Epoch, Task: name, State: stateName(&detail.Tasks[at]),
		Ended: wave.Status.Terminal(), Mark: as, Problem: problem, After: len(detail.Graph.Downstream(at)),
	}))
}
