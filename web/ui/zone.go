package ui

import (
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/templates"
)

const (
	// zoneCookie keeps whose clock the reader has chosen, and readerCookie which zone the reader's browser is in: its script says so.
	zoneCookie   = "tidewheel_zone"
	readerCookie = "tidewheel_reader_zone"
	// jobZoneKey is where a handler leaves the zone of the job or DAG that its page is about.
	jobZoneKey = "tidewheel.job-zone"
	// profileZoneKey is where the zone of the reader's profile is left, where it names one.
	profileZoneKey = "tidewheel.profile-zone"
	// zoneParameter says with a form in which zone its times are meant.
	zoneParameter = "zone"
)

// zone is that in which the page of a request shows and reads times.
func zone(c echo.Context) templates.Zone {
	var of templates.Zone
	if cookie, err := c.Cookie(zoneCookie); err == nil {
		of.Choice = templates.ParseZoneChoice(cookie.Value)
	}
	if named, is := c.Get(profileZoneKey).(*time.Location); is {
		of.Reader = named
	} else if cookie, err := c.Cookie(readerCookie); err == nil {
		of.Reader, _ = namedZone(cookie.Value)
	}
	of.Job, _ = c.Get(jobZoneKey).(*time.Location)
	return of
}

// aboutZone says that a page is about a job or DAG with this zone.
func aboutZone(c echo.Context, location *time.Location) { c.Set(jobZoneKey, location) }

// readerIn says that the reader's profile names a zone, which goes before that of the browser.
func readerIn(c echo.Context, name string) {
	if location, known := namedZone(name); known {
		c.Set(profileZoneKey, location)
	}
}

// namedZone finds a zone by what a browser calls it. Neither the server's own zone nor no zone is one.
func namedZone(name string) (*time.Location, bool) {
	if unescaped, err := url.QueryUnescape(name); err == nil {
		name = unescaped
	}
	if name == "" || name == "Local" || len(name) > 64 {
		return nil, false
	}
	location, err := time.LoadLocation(name)
	return location, err == nil
}

// zoneChoose keeps the choice in a cookie and leads back to the page that it was made on.
func (u *UI) zoneChoose(c echo.Context) error {
	chosen := templates.ParseZoneChoice(c.FormValue("zone"))
	keepChoice(c, zoneCookie, string(chosen))
	return c.Redirect(http.StatusSeeOther, cameFrom(c.Request()))
}

// inputForms are how browsers write what a field of kind datetime-local holds.
var inputForms = []string{"2006-01-02T15:04:05", templates.InputForm, "2006-01-02T15:04:05.000"}

// typedTime reads a field of kind datetime-local in the zone that the form names, or in that of the page where it names none. The note
// says which instant was taken where the clocks of the zone show the time twice, or never. False: it is no time.
func typedTime(c echo.Context, text string) (at time.Time, note string, ok bool) {
	location, known := namedZone(c.FormValue(zoneParameter))
	if !known {
		location = zone(c).Location()
	}
	for _, form := range inputForms {
		if wall, err := time.Parse(form, text); err == nil {
			at, note = cron.Local(wall, location)
			return at, note, true
		}
	}
	return time.Time{}, "", false
}
