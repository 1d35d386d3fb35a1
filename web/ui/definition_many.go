package ui

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	// chosenMost is how many definitions one request acts on at most: some pages of the list.
	chosenMost = 500
	// pagesChosen is how many pages of the list are read for all that match: where few do, a page may be short.
	pagesChosen = 40
)

// many does the same to each definition that is chosen in the list, and says of which it was not done and why. A request that is sent
// twice does nothing twice.
func (p *definitionPages[S]) many(act templates.Many, do func(ctx context.Context, c echo.Context, name string) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		view := act
		view.Back = p.back(c)
		names, err := p.chosen(c, view.Back)
		if err != nil {
			return err
		}
		view.Page, view.Kind, view.Names = p.UI.page(c, p.kind.Section, act.Title+" "+p.kind.Several(len(names))), p.kind, names
		view.Page.Trail = []templates.Crumb{{Name: p.kind.Title, Href: view.Back}, {Name: act.Title}}
		switch {
		case len(names) == 0:
			view.Problem = "Choose at least one " + p.kind.Noun + "."
		case len(names) > chosenMost:
			view.Problem = "That is more than " + strconv.Itoa(chosenMost) + " at once. Choose fewer; nothing has been done."
		case act.Asks == templates.AsksForLabels:
			view.Labels = c.FormValue("labels")
			if _, err := spec.ParseLabelChange(strings.Fields(view.Labels)); err != nil {
				if c.Request().PostForm.Has("labels") {
					view.Problem = sentence(err.Error())
				}
				view.Ask = true
				if view.Present, err = p.labelsOf(c.Request().Context(), names); err != nil {
					return err
				}
			}
		case act.Asks == templates.AsksForCount:
			if typed := c.FormValue("confirm"); strings.TrimSpace(typed) != strconv.Itoa(len(names)) {
				if typed != "" {
					view.Problem = "Type how many they are: nothing has been done."
				}
				view.Ask = true
			}
		}
		if view.Ask || view.Problem != "" {
			return p.render(c, http.StatusUnprocessableEntity, templates.ManyPage(view))
		}
		ctx := c.Request().Context()
		var acted []string
		for _, name := range names {
			err := do(ctx, c, name)
			words := refused(err)
			switch {
			case err == nil:
				acted = append(acted, name)
			case notFound(err):
				view.Refused = append(view.Refused, templates.NotDone{Name: name, Why: "It does not exist any more."})
			case words != "":
				view.Refused = append(view.Refused, templates.NotDone{Name: name, Why: words})
			default:
				return err
			}
		}
		view.Done = len(acted)
		next := withNotice(view.Back, act.Past, view.Done)
		if act.Asks == templates.AsksForCount && view.Done > 0 {
			removal, err := p.UI.service.Remove(ctx, namespaceOf(ctx), service.Actor(ctx), p.removed, acted)
			if err != nil {
				return err
			}
			view.Page.Undo, next = p.viewUndo(&removal), withUndo(view.Back, removal.ID)
		}
		if len(view.Refused) > 0 {
			return p.render(c, http.StatusConflict, templates.ManyPage(view))
		}
		return c.Redirect(http.StatusSeeOther, next)
	}
}

// registerMany adds what the list does to those that are chosen in it.
func (p *definitionPages[S]) registerMany(router Router) {
	router.POST(p.kind.Address("/pause"), p.many(templates.Many{Title: "Pause", Past: "paused"},
		func(ctx context.Context, _ echo.Context, name string) error {
			_, err := p.service.Pause(ctx, namespaceOf(ctx), name, service.Actor(ctx), "")
			return err
		}))
	router.POST(p.kind.Address("/resume"), p.many(templates.Many{Title: "Resume", Past: "resumed"},
		func(ctx context.Context, _ echo.Context, name string) error {
			_, err := p.service.Resume(ctx, namespaceOf(ctx), name, service.Actor(ctx))
			return err
		}))
	router.POST(p.kind.Address("/run"), p.many(templates.Many{Title: "Run", Past: "started"},
		func(ctx context.Context, c echo.Context, name string) error {
			_, _, err := p.start(ctx, namespaceOf(ctx), name, service.Start{By: service.Actor(ctx), Key: c.FormValue("key")})
			return err
		}))
	router.POST(p.kind.Address("/labels"), p.many(templates.Many{Title: "Label", Past: "labelled", Asks: templates.AsksForLabels},
		func(ctx context.Context, c echo.Context, name string) error {
			change, err := spec.ParseLabelChange(strings.Fields(c.FormValue("labels")))
			if err != nil {
				return err
			}
			_, _, err = p.service.Label(ctx, namespaceOf(ctx), name, service.Actor(ctx), change)
			return err
		}))
	router.POST(p.kind.Address("/delete"), p.many(templates.Many{Title: "Delete", Past: "deleted", Asks: templates.AsksForCount},
		func(ctx context.Context, _ echo.Context, name string) error { // those that are there are deleted together
			_, err := p.service.Get(ctx, namespaceOf(ctx), name)
			return err
		}))
}

// chosen are the names that the form sends; or all that the list selects, if it asks for these: one more than are acted on at most.
func (p *definitionPages[S]) chosen(c echo.Context, list string) ([]string, error) {
	form, err := c.FormParams()
	if err != nil {
		return nil, echo.NewHTTPError(http.StatusBadRequest, "the form cannot be read").SetInternal(err)
	}
	if form.Get("all") == "" {
		return form["name"], nil
	}
	_, text, _ := strings.Cut(list, "?")
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, echo.NewHTTPError(http.StatusBadRequest, "the list cannot be read").SetInternal(err)
	}
	query, err := p.query(c.Request().Context(), values, &templates.Definitions{})
	if err != nil {
		return nil, err
	}
	query.Limit, query.Health, query.Cursor = chosenMost, false, ""
	var names []string
	for range pagesChosen {
		page, err := p.service.Page(c.Request().Context(), query)
		if err != nil {
			return nil, err
		}
		for i := range page.Entries {
			names = append(names, page.Entries[i].Definition.Name)
		}
		if query.Cursor = page.Next; query.Cursor == "" || len(names) > chosenMost {
			break
		}
	}
	return names[:min(len(names), chosenMost+1)], nil
}

// labelsOf counts the labels of definitions: those that most have come first.
func (p *definitionPages[S]) labelsOf(ctx context.Context, names []string) ([]templates.CountedLabel, error) {
	counts := map[string]int{}
	for _, name := range names {
		definition, err := p.service.Get(ctx, namespaceOf(ctx), name)
		if notFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, label := range labelList(*p.labels(&definition.Spec)) {
			counts[label]++
		}
	}
	labels := make([]templates.CountedLabel, 0, len(counts))
	for label, count := range counts {
		labels = append(labels, templates.CountedLabel{Label: label, Count: count})
	}
	slices.SortFunc(labels, func(a, b templates.CountedLabel) int {
		return cmp.Or(b.Count-a.Count, strings.Compare(a.Label, b.Label))
	})
	return labels, nil
}

// back is the list as it was shown: only an address of the list itself is gone to.
func (p *definitionPages[S]) back(c echo.Context) string {
	list := p.kind.Address("")
	if at := c.FormValue("back"); strings.HasPrefix(at, list+"?") {
		return at
	}
	return list
}

// withNotice is an address that says what was done, and to how many.
func withNotice(at, notice string, n int) string {
	path, query, _ := strings.Cut(at, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		values = url.Values{}
	}
	values.Set(noticeParameter, notice)
	values.Set(noticeCount, strconv.Itoa(n))
	return path + "?" + values.Encode()
}
