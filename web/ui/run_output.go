package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// runOutput gives the output of an attempt to the page's script: with before, the piece of the page that stands before
// an offset; with follow, the bytes from an offset on as they come; else all of it, to keep.
func (u *UI) runOutput(c echo.Context) error {
	ctx := c.Request().Context()
	attempt, _ := strconv.Atoi(c.QueryParam("attempt")) // what is no number asks for the latest
	log, err := u.openOutput(ctx, c.Param("id"), attempt)
	if err != nil {
		return err
	}
	switch {
	case c.QueryParam("before") != "":
		return u.outputPiece(c, log)
	case c.QueryParam("follow") != "":
		return u.outputFollow(c, log)
	}
	return u.outputWhole(c, log)
}

// openOutput opens the output of an attempt; the first may be asked for before it has begun.
func (u *UI) openOutput(ctx context.Context, id string, attempt int) (*service.Log, error) {
	log, err := u.service.OpenLog(ctx, id, attempt)
	var known *service.Error
	if attempt == 1 && errors.As(err, &known) && known.Code == "attempt_not_found" {
		return u.service.OpenLog(ctx, id, 0)
	}
	return log, err
}

func (u *UI) outputPiece(c echo.Context, log *service.Log) error {
	before, err := strconv.ParseInt(c.QueryParam("before"), 10, 64)
	if err != nil {
		return echo.ErrBadRequest
	}
	data, offset, err := pieceBefore(c.Request().Context(), log, before)
	if err != nil {
		return err
	}
	return u.render(c, http.StatusOK, templates.PiecePart(viewPiece(log, data, offset)))
}

func (u *UI) outputWhole(c echo.Context, log *service.Log) error {
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	if c.QueryParam("download") != "" {
		header.Set(echo.HeaderContentDisposition, fmt.Sprintf("attachment; filename=%q", log.Run.Job+"-"+log.Run.ID+"-"+strconv.Itoa(log.Attempt)+".log"))
	}
	header.Set(echo.HeaderContentLength, strconv.FormatInt(log.Size, 10))
	c.Response().WriteHeader(http.StatusOK)
	// A copy that ends early is shorter than was said: the browser tells it from a whole one.
	_, err := log.CopyRange(c.Request().Context(), u.patient(c), 0, log.Size)
	return err
}

// outputFollow sends the output as it comes. An answer may end before the output does, as when the server stops: only
// one that began with X-Log-Complete is whole when it ends, and the script asks for the rest of any other.
func (u *UI) outputFollow(c echo.Context, log *service.Log) error {
	offset, err := strconv.ParseInt(c.QueryParam("offset"), 10, 64)
	if err != nil || offset < 0 {
		return echo.ErrBadRequest
	}
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Accel-Buffering", "no")
	header.Set("X-Log-Complete", strconv.FormatBool(log.Complete))
	c.Response().WriteHeader(http.StatusOK)
	out := u.patient(c)
	if err := out.flush(); err != nil {
		return nil //nolint:nilerr // the reader has gone
	}
	err = u.service.FollowLog(c.Request().Context(), log.Run.ID, log.Attempt, offset, func(_ int64, data []byte) error {
		if len(data) > 0 {
			if _, err := out.Write(data); err != nil {
				return fmt.Errorf("send output: %w", err)
			}
		}
		return out.flush()
	})
	if c.Request().Context().Err() != nil {
		return nil //nolint:nilerr // the reader has gone, or the server stops
	}
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
