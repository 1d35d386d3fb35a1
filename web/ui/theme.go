package ui

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
)

const (
	themeCookie = "tidewheel_theme"
	themeKept   = 365 * 24 * time.Hour
)

// theme is what the reader has chosen. The server knows it, so that no page shows the other one first.
func theme(c echo.Context) templates.Theme {
	cookie, err := c.Cookie(themeCookie)
	if err != nil {
		return templates.ThemeSystem
	}
	return templates.ParseTheme(cookie.Value)
}

// themeChoose keeps the choice in a cookie and leads back to the page that it was made on.
func (u *UI) themeChoose(c echo.Context) error {
	chosen := templates.ParseTheme(c.FormValue("theme"))
	cookie := &http.Cookie{Name: themeCookie, Value: string(chosen), Path: "/", MaxAge: int(themeKept / time.Second), HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: c.Scheme() == "https"} //nolint:gosec // as the session, it is secure where TLS is spoken
	if chosen == templates.ThemeSystem {
		cookie.MaxAge = -1
	}
	c.SetCookie(cookie)
	return c.Redirect(http.StatusSeeOther, cameFrom(c.Request()))
}

// cameFrom is the page of this server that a form was sent from; the overview if that is not known.
func cameFrom(r *http.Request) string {
	from, err := url.Parse(r.Referer())
	if err != nil || from.Host != r.Host || !strings.HasPrefix(from.Path, "/") || strings.HasPrefix(from.Path, "//") {
		return "/"
	}
	query := from.Query()
	query.Del(noticeParameter)
	return (&url.URL{Path: from.Path, RawQuery: query.Encode()}).String()
}
