package ui

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) dagRunForm(c echo.Context) error {
	return u.dagAct(c, http.StatusOK, "run", "Run", nil)
}

func (u *UI) dagRun(c echo.Context) error {
	ctx := c.Request().Context()
	start, problem := startOf(c)
	if problem == "" {
		wave, _, err := u.service.StartWave(ctx, namespaceOf(ctx), c.Param("name"), start)
		var known *service.Error
		switch {
		case err == nil:
			return done(c, "/waves/"+wave.ID, "wave-started")
		case c.FormValue("with") != "" && errors.As(err, &known) && known.Kind == service.KindInvalid:
			problem = known.Detail
		default:
			return err
		}
	}
	return u.dagAct(c, http.StatusUnprocessableEntity, "run", "Run", func(view *templates.DAGAct) {
		view.Problem, view.Payload, view.Variables = problem, c.FormValue("payload"), c.FormValue("variables")
	})
}

func (u *UI) dagPause(c echo.Context) error {
	ctx := c.Request().Context()
	dag, err := u.service.PauseDAG(ctx, namespaceOf(ctx), c.Param("name"), service.Actor(ctx))
	if err != nil {
		return err
	}
	return done(c, "/dags/"+dag.Name, "paused")
}

func (u *UI) dagResume(c echo.Context) error {
	ctx := c.Request().Context()
	dag, err := u.service.ResumeDAG(ctx, namespaceOf(ctx), c.Param("name"), service.Actor(ctx))
	if err != nil {
		return err
	}
	return done(c, "/dags/"+dag.Name, "resumed")
}

func (u *UI) dagDeleteForm(c echo.Context) error {
	return u.dagAct(c, http.StatusOK, "delete", "Delete", nil)
}

// dagDelete deletes nothing before the DAG's name has been typed.
func (u *UI) dagDelete(c echo.Context) error {
	ctx := c.Request().Context()
	if typed := strings.TrimSpace(c.FormValue("confirm")); typed != c.Param("name") {
		return u.dagAct(c, http.StatusUnprocessableEntity, "delete", "Delete", func(view *templates.DAGAct) {
			view.Problem, view.Confirm = "Type the name of the DAG as it is: nothing has been deleted.", typed
		})
	}
	if err := u.service.DeleteDAG(ctx, namespaceOf(ctx), c.Param("name"), service.Actor(ctx), 0); err != nil {
		return err
	}
	return done(c, "/dags", "deleted")
}
