package ui

import (
	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// shownTriggers are what starts a definition besides its schedule.
func (u *UI) shownTriggers(c echo.Context, name string, dag bool) ([]templates.ShownTrigger, error) {
	ctx := c.Request().Context()
	triggers, err := u.service.TriggersOf(ctx, namespaceOf(ctx), name)
	if err != nil {
		return nil, err
	}
	shown := make([]templates.ShownTrigger, 0, len(triggers))
	for i := range triggers {
		shown = append(shown, u.viewTrigger(&triggers[i], c.Scheme()+"://"+c.Request().Host, dag))
	}
	return shown, nil
}

// viewTrigger shows one trigger; host is where the reader has reached the pages.
func (u *UI) viewTrigger(one *service.ShownTrigger, host string, dag bool) templates.ShownTrigger {
	if u.config.PublicURL != "" {
		host = u.config.PublicURL
	}
	view := templates.ShownTrigger{Secret: one.Secret, Subject: one.Subject, Bucket: one.Bucket, Prefix: one.Prefix, Problem: one.Problem}
	if one.Path != "" {
		view.URL = host + one.Path
	}
	for _, upstream := range one.Upstreams {
		row := templates.ShownUpstream{Name: upstream.Name, Problem: upstream.Problem}
		switch {
		case upstream.Foreign:
			row.Name = upstream.Namespace + "/" + upstream.Name
		case upstream.Problem == "" && upstream.DAG:
			row.Href = "/dags/" + upstream.Name
		case upstream.Problem == "":
			row.Href = "/jobs/" + upstream.Name
		}
		view.Upstreams = append(view.Upstreams, row)
	}
	if last := one.Last; last != nil {
		view.Last, view.Reason = last.At, last.Reason
		if last.Run != "" {
			view.Run, view.Started = "/runs/"+last.Run, "a run"
			if dag {
				view.Run, view.Started = "/waves/"+last.Run, "a wave"
			}
		}
	}
	return view
}
