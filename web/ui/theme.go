package ui

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	themeCookie = "tidewheel_theme"
	choiceKept  = 365 * 24 * time.Hour
)

// theme is what the reader has chosen. The server knows it, so that no page shows the other one first.
func theme(c echo.Context) templates.Theme {
	cookie, err := c.Cookie(themeCookie)
	if err != nil {
		return templates.ThemeSystem
	}
	return templates.ParseTheme(cookie.Value)
}

// themeChoose keeps the choice in the reader's profile and in a cookie, for pages before signing in, and leads back to the page that
// it was made on.
func (u *UI) themeChoose(c echo.Context) error {
	chosen := templates.ParseTheme(c.FormValue("theme"))
	if access.From(c.Request().Context()).Name != "" {
		if _, err := u.service.SetProfile(c.Request().Context(), func(profile *service.Profile) { profile.Theme = string(chosen) }); err != nil {
			return err
		}
	}
	keepChoice(c, themeCookie, string(chosen))
	return c.Redirect(http.StatusSeeOther, cameFrom(c.Request()))
}

// keepChoice keeps in a cookie what the reader has chosen of the looks of the pages; "" forgets it.
func keepChoice(c echo.Context, name, value string) {
	cookie := &http.Cookie{ //nolint:gosec // as the session, it is secure where TLS is spoken
		Name: name, Value: value, Path: "/", MaxAge: int(choiceKept / time.Second), HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: c.Scheme() == "https",
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	c.SetCookie(cookie)
}

// cameFrom is the page of this server that a form was sent from; the overview if that is not known.
func cameFrom(r *http.Request) string {
	from, err := url.Parse(r.Referer())
	if err != nil || from.Host != r.Host || !strings.HasPrefix(from.Path, "/") || strings.HasPrefix(from.Path, "//") {
		return "/"
	}
	query := from.Query()
	for _, name := range saidOnce {
		query.Del(name)
	}
	return (&url.URL{Path: from.Path, RawQuery: query.Encode()}).String()
}
