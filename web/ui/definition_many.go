package ui

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// chosenMost is how many definitions one request acts on at most: some pages of the list.
const chosenMost = 4 * definitionsPerPage

// many does the same to each definition that is chosen in the list, and says of which it was not done and why. A request that is sent
// twice does nothing twice.
func (p *definitionPages[S]) many(act templates.Many, do func(ctx context.Context, c echo.Context, name string) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		names, err := chosen(c)
		if err != nil {
			return err
		}
		view := act
		view.Page, view.Kind, view.Names, view.Back = p.UI.page(c, p.kind.Section, act.Title+" "+p.kind.Several(len(names))), p.kind, names, p.back(c)
		view.Page.Trail = []templates.Crumb{{Name: p.kind.Title, Href: view.Back}, {Name: act.Title}}
		switch {
		case len(names) == 0:
			view.Problem = "Choose at least one " + p.kind.Noun + "."
		case len(names) > chosenMost:
			view.Problem = "That is more than " + strconv.Itoa(chosenMost) + " at once. Choose fewer; nothing has been done."
		case act.Asks:
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
		for _, name := range names {
			err := do(ctx, c, name)
			words := refused(err)
			switch {
			case err == nil:
				view.Done++
			case notFound(err):
				view.Refused = append(view.Refused, templates.NotDone{Name: name, Why: "It does not exist any more."})
			case words != "":
				view.Refused = append(view.Refused, templates.NotDone{Name: name, Why: words})
			default:
				return err
			}
		}
		if len(view.Refused) > 0 {
			return p.render(c, http.StatusConflict, templates.ManyPage(view))
		}
		return c.Redirect(http.StatusSeeOther, withNotice(view.Back, act.Past, view.Done))
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
	router.POST(p.kind.Address("/delete"), p.many(templates.Many{Title: "Delete", Past: "deleted", Asks: true},
		func(ctx context.Context, _ echo.Context, name string) error {
			return p.service.Delete(ctx, namespaceOf(ctx), name, service.Actor(ctx), 0)
		}))
}

// chosen are the names that the form sends.
func chosen(c echo.Context) ([]string, error) {
	form, err := c.FormParams()
	if err != nil {
		return nil, echo.NewHTTPError(http.StatusBadRequest, "the form cannot be read").SetInternal(err)
	}
	return form["name"], nil
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
