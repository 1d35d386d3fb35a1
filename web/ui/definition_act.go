package ui

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// act shows the page that asks before something is done.
func (p *definitionPages[S]) act(c echo.Context, status int, act, title string, fill func(*templates.Act)) error {
	definition, err := p.read(c)
	if err != nil {
		return err
	}
	view := templates.Act{Act: act}
	view.Page, view.Head = p.page(c, &definition, "")
	view.Page.Title = title + " " + definition.Name
	view.Page.Trail = []templates.Crumb{{Name: p.kind.Title, Href: p.kind.Address("")}, {Name: definition.Name, Href: view.Head.Path("")}, {Name: title}}
	view.Payload = view.Head.Payload
	if fill != nil {
		fill(&view)
	}
	return p.render(c, status, templates.ActPage(view))
}

// refused returns the words for a request that the user can put right; "" for other errors.
func refused(err error) string {
	var known *service.Error
	if errors.As(err, &known) && slices.Contains([]service.Kind{service.KindInvalid, service.KindBusy, service.KindForbidden}, known.Kind) {
		return known.Detail
	}
	return ""
}

// runForm asks what to run with: what the definition says, or what the run that from names was given.
func (p *definitionPages[S]) runForm(c echo.Context) error {
	from := c.QueryParam("from")
	if from == "" {
		return p.act(c, http.StatusOK, "run", "Run", nil)
	}
	ctx := c.Request().Context()
	run, err := p.UI.service.Run(ctx, namespaceOf(ctx), from)
	if err != nil {
		return err
	}
	if run.Job != c.Param("name") || run.DAG != "" {
		return echo.ErrNotFound
	}
	return p.act(c, http.StatusOK, "run", "Run again", func(view *templates.Act) {
		if len(run.Payload) > 0 {
			view.Payload = indented(run.Payload)
		}
		view.From = run.ID
		for _, name := range sortedKeys(run.Args) {
			if service.LooksSecret(name, run.Args[name]) {
				view.Hidden = append(view.Hidden, name)
			} else if !strings.ContainsAny(run.Args[name], "\r\n") {
				view.Variables += name + "=" + run.Args[name] + "\n"
			} else {
				view.Hidden = append(view.Hidden, name)
			}
		}
	})
}

func (p *definitionPages[S]) run(c echo.Context) error {
	ctx := c.Request().Context()
	start, problem := startOf(c)
	if problem == "" {
		at, notice, err := p.start(ctx, namespaceOf(ctx), c.Param("name"), start)
		if err == nil {
			return done(c, at, notice)
		}
		if problem = refused(err); problem == "" || c.FormValue("with") == "" {
			return err
		}
	}
	return p.act(c, http.StatusUnprocessableEntity, "run", "Run", func(view *templates.Act) {
		view.Problem, view.Payload, view.Variables = problem, c.FormValue("payload"), c.FormValue("variables")
	})
}

func (u *UI) startJob(ctx context.Context, namespace, name string, how service.Start) (at, notice string, err error) {
	run, _, err := u.service.StartRun(ctx, namespace, name, how)
	return "/runs/" + run.ID, "started", err
}

func (u *UI) startDAG(ctx context.Context, namespace, name string, how service.Start) (at, notice string, err error) {
	wave, _, err := u.service.StartWave(ctx, namespace, name, how)
	return "/waves/" + wave.ID, "wave-started", err
}

func (p *definitionPages[S]) pauseForm(c echo.Context) error {
	return p.act(c, http.StatusOK, "pause", "Pause", nil)
}

func (p *definitionPages[S]) pause(c echo.Context) error {
	ctx := c.Request().Context()
	definition, err := p.service.Pause(ctx, namespaceOf(ctx), c.Param("name"), service.Actor(ctx), c.FormValue("reason"))
	if problem := refused(err); problem != "" {
		return p.act(c, http.StatusUnprocessableEntity, "pause", "Pause", func(view *templates.Act) {
			view.Problem, view.Reason = problem, c.FormValue("reason")
		})
	}
	if err != nil {
		return err
	}
	return done(c, p.kind.Address("/"+definition.Name), "paused")
}

func (p *definitionPages[S]) resume(c echo.Context) error {
	ctx := c.Request().Context()
	definition, err := p.service.Resume(ctx, namespaceOf(ctx), c.Param("name"), service.Actor(ctx))
	if err != nil {
		return err
	}
	return done(c, p.kind.Address("/"+definition.Name), "resumed")
}

func (p *definitionPages[S]) deleteForm(c echo.Context) error {
	return p.act(c, http.StatusOK, "delete", "Delete", nil)
}

// delete deletes nothing before the definition's name has been typed.
func (p *definitionPages[S]) delete(c echo.Context) error {
	if typed := strings.TrimSpace(c.FormValue("confirm")); typed != c.Param("name") {
		return p.act(c, http.StatusUnprocessableEntity, "delete", "Delete", func(view *templates.Act) {
			view.Problem, view.Confirm = "Type the name of the "+p.kind.Noun+" as it is: nothing has been deleted.", typed
		})
	}
	return p.remove(c, p.removed, []string{c.Param("name")}, p.kind.Address(""))
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
