package ui

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
)

// Login shows the login page. Its frame is this server's own.
func (u *UI) Login(c echo.Context, status int, login templates.Login) error {
	login.Page = u.page(c, "", "Sign in")
	login.Page.SignOut = false
	return u.render(c, status, templates.LoginPage(login))
}

// Welcome shows the page that makes the first admin, with why the last try did not succeed, the name that was typed, and where to
// go on.
func (u *UI) Welcome(c echo.Context, status int, problem, name, next string) error {
	page := u.page(c, "", "Welcome")
	page.SignOut = false
	return u.render(c, status, templates.WelcomePage(templates.Welcome{Page: page, Problem: sentence(problem), Name: name, Next: next}))
}

// Failure shows an error page: what went wrong in words, and the id under which the log says more ("" for none).
func (u *UI) Failure(c echo.Context, status int, title, detail, requestID string) error {
	if status == http.StatusNotFound && c.Path() == "" {
		detail = "there is no page at " + c.Request().URL.Path + "; check the address"
	}
	switch status {
	case http.StatusNotFound:
		title = "Page not found"
	case http.StatusConflict:
		title = "Not possible right now"
	case http.StatusUnprocessableEntity:
		title = "Invalid input"
	case http.StatusInternalServerError:
		title = "Something went wrong"
	case http.StatusServiceUnavailable:
		title = "Service unavailable"
	}
	view := templates.Failure{Page: u.page(c, "", title), Title: title, Detail: sentence(detail), Request: requestID}
	return u.render(c, status, templates.FailurePage(view))
}

// sentence makes a sentence of an error's words.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	if first := text[0]; first >= 'a' && first <= 'z' {
		text = string(first-'a'+'A') + text[1:]
	}
	switch text[len(text)-1] {
	case '.', '!', '?', '`':
		return text
	}
	return text + "."
}
