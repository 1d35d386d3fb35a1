package ui

import (
	"bytes"
	"net/http"
	"path"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/docs"
	"github.com/tidewheel/tidewheel/templates"
)

// referenceSlug is the page of the API among the documents.
const referenceSlug = "api"

func (u *UI) docsRoutes(router Router) {
	router.GET("/docs", u.docsList)
	router.GET("/docs/api", u.docsReference)
	router.GET("/docs/images/:name", docsImage)
	router.GET("/docs/*", u.docsShow)
}

func (u *UI) docsList(c echo.Context) error {
	view, err := u.docsView(c, "", "Documents")
	if err != nil {
		return err
	}
	return u.render(c, http.StatusOK, templates.DocsPage(view))
}

func (u *UI) docsShow(c echo.Context) error {
	library, err := docs.Load()
	if err != nil {
		return err
	}
	page, ok := library.Page(c.Param("*"))
	if !ok {
		return echo.ErrNotFound
	}
	view, err := u.docsView(c, page.Slug, page.Title)
	if err != nil {
		return err
	}
	view.HTML = page.HTML
	for _, heading := range page.Headings {
		view.Headings = append(view.Headings, templates.DocsLink{Name: heading.Text, Href: "#" + heading.ID})
	}
	return u.render(c, http.StatusOK, templates.DocsPage(view))
}

// docsView has the list of all documents, with the one of a slug marked.
func (u *UI) docsView(c echo.Context, slug, title string) (templates.Docs, error) {
	library, err := docs.Load()
	if err != nil {
		return templates.Docs{}, err
	}
	view := templates.Docs{Page: u.page(c, "", title), Title: title}
	for _, group := range library.Groups {
		shown := templates.DocsGroup{Name: group.Name, Open: group.Name != docs.Decisions}
		for _, other := range group.Slugs {
			page, _ := library.Page(other) // the library's own list
			link := templates.DocsLink{Name: page.Title, Href: docs.Prefix + other, Current: other == slug}
			shown.Open = shown.Open || link.Current
			shown.Pages = append(shown.Pages, link)
		}
		if group.Name == docs.Reference {
			shown.Pages = append(shown.Pages, templates.DocsLink{Name: "REST API", Href: docs.Prefix + referenceSlug, Current: slug == referenceSlug})
		}
		view.Groups = append(view.Groups, shown)
	}
	return view, nil
}

func docsImage(c echo.Context) error {
	name := path.Base(c.Param("name"))
	picture, err := docs.Image(name)
	if err != nil {
		return echo.ErrNotFound
	}
	c.Response().Header().Set("Cache-Control", "max-age=3600")
	http.ServeContent(c.Response(), c.Request(), name, time.Time{}, bytes.NewReader(picture))
	return nil
}
