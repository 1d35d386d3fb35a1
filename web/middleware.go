package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/tidewheel/tidewheel/static"
	"github.com/tidewheel/tidewheel/web/api"
)

type requestKey struct{}

// RequestID returns the id of the request that a context belongs to, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// requestID gives every request an id, its own or one that a proxy gave it.
func (s *Server) requestID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		id := c.Request().Header.Get(echo.HeaderXRequestID)
		if !plainWord(id) {
			id = rand.Text()[:16]
		}
		c.Response().Header().Set(echo.HeaderXRequestID, id)
		c.SetRequest(c.Request().WithContext(context.WithValue(c.Request().Context(), requestKey{}, id)))
		return next(c)
	}
}

func plainWord(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// accessLog logs each request once it is answered. It logs paths without their queries, which may hold codes.
func (s *Server) accessLog(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		begun := time.Now()
		defer func() {
			if quiet(c.Request().URL.Path) {
				return
			}
			level := slog.LevelInfo
			if c.Request().Method == http.MethodGet && c.Response().Status < http.StatusBadRequest {
				level = slog.LevelDebug
			}
			s.config.Log.LogAttrs(c.Request().Context(), level, "request",
				slog.String("request_id", RequestID(c.Request().Context())),
				slog.String("method", c.Request().Method), slog.String("path", c.Request().URL.Path),
				slog.Int("status", c.Response().Status), slog.Int64("bytes", c.Response().Size),
				slog.Duration("took", time.Since(begun)), slog.String("remote", c.Request().RemoteAddr))
		}()
		if err := next(c); err != nil {
			c.Error(err) // answered here, so that the log knows the status
		}
		return nil
	}
}

func quiet(path string) bool {
	return path == "/livez" || path == "/readyz" || path == metricsPath || strings.HasPrefix(path, static.Prefix)
}

// recoverPanic keeps a fault in one request from ending the others.
func (s *Server) recoverPanic(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			fault := recover()
			if fault == nil {
				return
			}
			if aborted, ok := fault.(error); ok && errors.Is(aborted, http.ErrAbortHandler) {
				panic(fault) // the connection is to be cut
			}
			err = fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
			if c.Response().Committed {
				s.config.Log.Error("a request failed after its answer had begun", "request_id", RequestID(c.Request().Context()), "error", err)
				panic(http.ErrAbortHandler)
			}
		}()
		return next(c)
	}
}

// contentPolicy lets pages load what the server itself serves, and nothing inline.
const contentPolicy = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

func securityHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		header := c.Response().Header()
		header.Set("Content-Security-Policy", contentPolicy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("X-Frame-Options", "DENY")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		if !strings.HasPrefix(c.Request().URL.Path, static.Prefix) {
			header.Set("Cache-Control", "no-store")
		}
		if c.Request().TLS != nil { // behind a proxy it is the proxy's to say; browsers pass over it where the host is an address
			header.Set("Strict-Transport-Security", "max-age=31536000")
		}
		return next(c)
	}
}

// endStreams ends streams when the server stops; everything else is left to finish.
func (s *Server) endStreams(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !streams(c.Request()) {
			return next(c)
		}
		request := c.Request()
		ctx, cancel := context.WithCancelCause(request.Context())
		// The request gets its own context back: an outer handler that answers an error would take a cancelled context
		// for a client that has disconnected.
		defer c.SetRequest(request)
		defer cancel(nil)
		defer context.AfterFunc(s.stopping, func() { cancel(ErrStopping) })()
		c.SetRequest(request.WithContext(ctx))
		return next(c)
	}
}

// streams reports whether a request asks for an answer without an end.
func streams(r *http.Request) bool {
	if strings.Contains(r.Header.Get("Accept"), "text/event-stream") || r.URL.Path == api.Prefix+"/events" {
		return true
	}
	query := r.URL.Query()
	return query.Has("follow") && query.Get("follow") != "false" && query.Get("follow") != "0"
}

// withoutTrailingSlash leads from /jobs/ to /jobs.
var withoutTrailingSlash = middleware.RemoveTrailingSlashWithConfig(middleware.TrailingSlashConfig{
	Skipper: func(c echo.Context) bool {
		r := c.Request()
		return r.Method != http.MethodGet && r.Method != http.MethodHead || r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, api.Prefix)
	},
	RedirectCode: http.StatusPermanentRedirect,
})

// notCompressed reports whether an answer is sent as it is: a stream, a program, output that may be large, what is small by nature, or
// compressed already.
func notCompressed(c echo.Context) bool {
	r := c.Request()
	return streams(r) || uploads(r) || r.Header.Get("Range") != "" || strings.HasPrefix(r.URL.Path, static.Prefix) || strings.HasSuffix(r.URL.Path, "/content") ||
		strings.HasSuffix(r.URL.Path, "/logs") || strings.HasSuffix(r.URL.Path, "/output")
}
