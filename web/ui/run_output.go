package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// runOutput returns the output of an attempt to the page's script: with lines, those from a number on (or "end", the last
// ones); with find or errors, where something stands; with follow, the lines that come; else its bytes, all of them or
// from offset on.
func (u *UI) runOutput(c echo.Context) error {
	ctx := c.Request().Context()
	attempt, _ := strconv.Atoi(c.QueryParam("attempt")) // what is no number asks for the latest
	log, err := u.openOutput(ctx, c.Param("id"), attempt)
	if err != nil {
		return err
	}
	switch {
	case c.QueryParam("lines") != "":
		return u.outputLines(c, log)
	case c.QueryParam("find") != "" || c.QueryParam("errors") != "":
		return u.outputFound(c, log)
	case c.QueryParam("follow") != "":
		return u.outputFollow(c, log)
	}
	return u.outputBytes(c, log)
}

// openOutput opens the output of an attempt; the first may be asked for before it has begun.
func (u *UI) openOutput(ctx context.Context, id string, attempt int) (*service.Log, error) {
	log, err := u.service.OpenLog(ctx, namespaceOf(ctx), id, attempt)
	var known *service.Error
	if attempt == 1 && errors.As(err, &known) && known.Code == "attempt_not_found" {
		return u.service.OpenLog(ctx, namespaceOf(ctx), id, 0)
	}
	return log, err
}

func (u *UI) outputLines(c echo.Context, log *service.Log) error {
	var from int64
	if asked := c.QueryParam("lines"); asked != "end" {
		var err error
		if from, err = strconv.ParseInt(asked, 10, 64); err != nil || from < 1 {
			return echo.ErrBadRequest
		}
	}
	out, err := viewOutput(c.Request().Context(), log, from)
	if err != nil {
		return err
	}
	return u.render(c, http.StatusOK, templates.LinesPart(out))
}

// outputSearch reads what a reader looks for; false if nothing.
func outputSearch(c echo.Context) (search service.LogSearch, asked bool) {
	search = service.LogSearch{Text: c.QueryParam("find"), Errors: c.QueryParam("errors") != "", From: c.QueryParam("from")}
	if len(search.Text) > service.MaxSearchText {
		search.Text = string(whole([]byte(search.Text[:service.MaxSearchText])))
	}
	return search, search.Errors || search.Text != ""
}

// searchURL leads to the same search from a place on.
func searchURL(out *templates.Output, search service.LogSearch, from string) string {
	query := url.Values{"attempt": {strconv.Itoa(out.Attempt)}}
	if search.Errors {
		query.Set("errors", "1")
	} else {
		query.Set("find", search.Text)
	}
	if from != "" {
		query.Set("from", from)
	}
	return "/runs/" + out.Run + "?" + query.Encode() + "#output"
}

func (u *UI) outputFound(c echo.Context, log *service.Log) error {
	search, _ := outputSearch(c)
	found, err := log.Search(c.Request().Context(), search)
	if err != nil {
		return err
	}
	out := templates.Output{Run: log.Run.ID, Attempt: log.Attempt, Size: log.Size}
	out.Found = viewFound(&out, search, found)
	return u.render(c, http.StatusOK, templates.FoundPart(out))
}

// outputBytes sends what was printed as it is: all of it, or length bytes from offset on.
func (u *UI) outputBytes(c echo.Context, log *service.Log) error {
	offset, length := int64(0), log.Size
	if asked := c.QueryParam("offset"); asked != "" {
		var err error
		if offset, err = strconv.ParseInt(asked, 10, 64); err != nil || offset < 0 {
			return echo.ErrBadRequest
		}
		length = max(log.Size-offset, 0)
		if most, err := strconv.ParseInt(c.QueryParam("length"), 10, 64); err == nil && most >= 0 {
			length = min(length, most)
		}
	}
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	if c.QueryParam("download") != "" {
		header.Set(echo.HeaderContentDisposition, fmt.Sprintf("attachment; filename=%q", log.Run.Job+"-"+log.Run.ID+"-"+strconv.Itoa(log.Attempt)+".log"))
	}
	header.Set(echo.HeaderContentLength, strconv.FormatInt(length, 10))
	c.Response().WriteHeader(http.StatusOK)
	// A copy that ends early is shorter than was said: the browser tells it from a whole one.
	_, err := log.CopyRange(c.Request().Context(), u.patient(c), offset, length)
	return err
}

// patient writes to a reader who may take his time, but not for ever.
type patient struct {
	w       io.Writer
	control *http.ResponseController
	most    time.Duration
}

func (u *UI) patient(c echo.Context) *patient {
	return &patient{w: c.Response(), control: http.NewResponseController(c.Response()), most: u.config.Patience}
}

func (p *patient) Write(data []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.most)) // where it cannot be set, the connection's end is the limit
	return p.w.Write(data)
}

func (p *patient) flush() error {
	_ = p.control.SetWriteDeadline(time.Now().Add(p.most))
	return p.control.Flush()
}
