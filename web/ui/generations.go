package ui

import (
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// generationsListed is how many forms of a definition are listed.
const generationsListed = 50

// listedGeneration is one form in the list of them.
func listedGeneration(number int64, at time.Time, by, message string) templates.Generation {
	return templates.Generation{N: number, At: at, By: by, Message: readable([]byte(message))}
}

// comparedGenerations tells which two forms the reader asks to compare.
func comparedGenerations(c echo.Context) (from, to int64, asked bool) {
	from, fromErr := strconv.ParseInt(c.QueryParam("from"), 10, 64)
	to, toErr := strconv.ParseInt(c.QueryParam("to"), 10, 64)
	return from, to, fromErr == nil && toErr == nil
}

// restoredGeneration is the form that is to be the present one again; 0, which there is none of, if none is named: the
// service says so.
func restoredGeneration(c echo.Context) int64 {
	number, err := strconv.ParseInt(c.FormValue("generation"), 10, 64)
	if err != nil {
		return 0
	}
	return number
}

// restored is the notice after a form was restored.
func restored(change service.Change) string {
	if change == service.Unchanged {
		return "unchanged"
	}
	return "restored"
}
