package ui

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

func (u *UI) jobRunForm(c echo.Context) error {
	return u.jobAct(c, http.StatusOK, "run", "Run", nil)
}

func (u *UI) jobRun(c echo.Context) error {
	ctx := c.Request().Context()
	start, problem := startOf(c)
	if problem == "" {
		run, _, err := u.service.StartRun(ctx, namespaceOf(ctx), c.Param("name"), start)
		var known *service.Error
		switch {
		case err == nil:
			return done(c, "/runs/"+run.ID, "started")
		case c.FormValue("with") != "" && errors.As(err, &known) && known.Kind == service.KindInvalid:
			problem = known.Detail
		default:
			return err
		}
	}
	return u.jobAct(c, http.StatusUnprocessableEntity, "run", "Run", func(view *templates.JobAct) {
		view.Problem, view.Payload, view.Variables = problem, c.FormValue("payload"), c.FormValue("variables")
	})
}

// startOf reads what a run or a wave is started with; problem says what of it cannot be read.
func startOf(c echo.Context) (start service.Start, problem string) {
	start = service.Start{By: service.Actor(c.Request().Context()), Key: c.FormValue("key")}
	if payload := strings.TrimSpace(c.FormValue("payload")); payload != "" {
		start.Payload = json.RawMessage(payload)
	}
	start.Args, problem = readVariables(c.FormValue("variables"))
	return start, problem
}

// readVariables reads NAME=value lines; problem says which is none.
func readVariables(text string) (variables map[string]string, problem string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, "The line “" + line + "” sets nothing: write NAME=value."
		}
		if variables == nil {
			variables = map[string]string{}
		}
		variables[strings.TrimSpace(name)] = value
	}
	return variables, ""
}
