package ui

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/errgroup"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// searchLimit is how many jobs, and how many binaries, a search offers.
const searchLimit = 8

// search finds jobs, binaries and runs: as JSON for the command palette, and as a page.
func (u *UI) search(c echo.Context) error {
	ctx := c.Request().Context()
	text := c.QueryParam("q")
	found, err := u.service.Search(ctx, namespaceOf(ctx), text, searchLimit)
	if err != nil {
		return err
	}
	items, err := u.searchItems(ctx, &found)
	if err != nil {
		return err
	}
	if byScript(c) {
		return c.JSON(http.StatusOK, map[string]any{"items": items})
	}
	return u.render(c, http.StatusOK, templates.SearchPage(templates.Search{Page: u.page(c, "", "Search"), Text: text, Items: items}))
}

func (u *UI) searchItems(ctx context.Context, found *service.Found) ([]templates.SearchItem, error) {
	jobs := make([]engine.Job, len(found.Jobs))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for i, name := range found.Jobs {
		group.Go(func() (err error) {
			jobs[i], err = u.service.Jobs.Get(within, namespaceOf(ctx), name)
			var known *service.Error
			if errors.As(err, &known) && known.Kind == service.KindNotFound {
				return nil // deleted a moment ago
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	items := []templates.SearchItem{}
	for i := range jobs {
		if job := &jobs[i]; job.Name != "" {
			detail := scheduleWords(job)
			if job.Paused {
				detail = "paused; " + detail
			}
			items = append(items, templates.SearchItem{Kind: templates.SearchJob, Name: job.Name, Detail: detail, Href: "/jobs/" + job.Name, Paused: job.Paused})
		}
	}
	for i := range found.DAGs {
		dag := &found.DAGs[i]
		detail := rhythm(&dag.Spec)
		if dag.Paused {
			detail = "paused; " + detail
		}
		items = append(items, templates.SearchItem{Kind: templates.SearchDAG, Name: dag.Name, Detail: detail, Href: "/dags/" + dag.Name, Paused: dag.Paused})
	}
	for i := range found.Runs {
		run := viewRun(&found.Runs[i])
		items = append(items, templates.SearchItem{
			Kind: templates.SearchRun, Name: found.Runs[i].Label(), Detail: strings.ReplaceAll(run.Status, "_", " "), At: run.Created, Href: "/runs/" + run.ID,
		})
	}
	for _, name := range found.Binaries {
		items = append(items, templates.SearchItem{Kind: templates.SearchBinary, Name: name, Href: "/binaries/" + url.PathEscape(name)})
	}
	return items, nil
}

// shortcuts lists the keys: as a page, and as a part of one for the dialog.
func (u *UI) shortcuts(c echo.Context) error {
	return u.show(c, templates.ShortcutsPage(u.page(c, "", "Keyboard shortcuts")), templates.ShortcutsPart())
}
