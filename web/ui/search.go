package ui

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
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
	stars, err := u.service.Favourites(ctx, namespaceOf(ctx))
	if err != nil {
		return nil, err
	}
	starred := func(kind templates.SearchKind, name string) bool {
		return slices.Contains(stars, service.Favourite{Kind: string(kind), Name: name})
	}
	items := []templates.SearchItem{}
	for i := range jobs {
		if job := &jobs[i]; job.Name != "" {
			detail := scheduleWords(job)
			if job.Paused {
				detail = "paused; " + detail
			}
			items = append(items, templates.SearchItem{Kind: templates.SearchJob, Name: job.Name, Detail: detail, Href: "/jobs/" + job.Name, Paused: job.Paused, Favourite: starred(templates.SearchJob, job.Name)})
		}
	}
	for i := range found.DAGs {
		dag := &found.DAGs[i]
		detail := rhythm(&dag.Spec)
		if dag.Paused {
			detail = "paused; " + detail
		}
		items = append(items, templates.SearchItem{Kind: templates.SearchDAG, Name: dag.Name, Detail: detail, Href: "/dags/" + dag.Name, Paused: dag.Paused, Favourite: starred(templates.SearchDAG, dag.Name)})
	}
	for i := range found.Runs {
		run := viewRun(&found.Runs[i])
		items = append(items, templates.SearchItem{
			Kind: templates.SearchRun, Name: found.Runs[i].Label(), Detail: strings.ReplaceAll(run.Status, "_", " "), At: run.Created, Href: "/runs/" + run.ID,
			Can: runCan(&found.Runs[i]),
		})
	}
	for _, name := range found.Binaries {
		items = append(items, templates.SearchItem{Kind: templates.SearchBinary, Name: name, Href: "/binaries/" + url.PathEscape(name)})
	}
	for i := range found.Executors {
		row := viewExecutor(&found.Executors[i])
		row.LastOf = lastTiers(found.Fleet, &found.Executors[i])
		items = append(items, templates.SearchItem{
			Kind: templates.SearchExecutor, Name: row.ID, Detail: row.State + ", tier " + strings.Join(row.Tiers, ", "), Href: "/executors#executor-" + row.ID, Can: row.Can(), Ask: row.Question(),
		})
	}
	return items, nil
}

// runCan is what can be done to a run now, as its page offers it.
func runCan(run *engine.Run) []string {
	switch {
	case !run.Status.Terminal():
		return []string{"cancel"}
	case run.Status.CanRetry() && run.Status != engine.StatusCancelled: // the page of a cancelled run asks first
		return []string{"retry"}
	}
	return nil
}

// shortcuts lists the keys: as a page, and as a part of one for the dialog.
func (u *UI) shortcuts(c echo.Context) error {
	return u.show(c, templates.ShortcutsPage(u.page(c, "", "Keyboard shortcuts")), templates.ShortcutsPart())
}
