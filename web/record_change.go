package web

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/audit"
	"github.com/tidewheel/tidewheel/web/service"
)

// changing reports whether a request is recorded in the audit log.
func changing(method string, rule rule) bool {
	switch method {
	case http.MethodGet:
		return rule.loud
	case http.MethodHead, http.MethodOptions:
		return false
	}
	return !rule.quiet
}

// recordChange puts each request that changes something into the audit log, before its answer begins.
func (s *Server) recordChange(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		who := service.Actor(r.Context())
		known := who != ""
		if rule := ruleOf(c); !changing(r.Method, rule) || !known && !rule.loud {
			return next(c)
		}
		ctx, changes := audit.Collect(r.Context())
		c.SetRequest(r.WithContext(ctx))
		entry := audit.Entry{
			At: time.Now(), By: who, Remote: addressOf(r), RequestID: RequestID(ctx), Agent: r.UserAgent(),
			Action: r.Method + " " + c.Path(), Target: r.URL.Path,
		}
		c.Response().Before(func() {
			if !known && c.Response().Status >= http.StatusBadRequest {
				return // or strangers would fill the log
			}
			entry.Namespace = access.NamespaceOf(c.Request().Context())
			changes.Fill(&entry)
			entry.Status, entry.Outcome = c.Response().Status, outcomeOf(c.Response().Status)
			s.appendEntry(ctx, entry)
		})
		return next(c)
	}
}

// appendEntry cannot undo what was done: an entry that cannot be written is in the log of the server, whole.
func (s *Server) appendEntry(ctx context.Context, entry audit.Entry) {
	if err := s.config.Service.Audit.Append(ctx, entry); err != nil {
		s.config.Log.Error("a change is missing in the audit log", "error", err, "by", entry.By, "remote", entry.Remote, "request_id", entry.RequestID,
			"namespace", entry.Namespace, "action", entry.Action, "target", entry.Target, "outcome", entry.Outcome, "changes", entry.Changes)
	}
}

func outcomeOf(status int) audit.Outcome {
	switch {
	case status >= http.StatusInternalServerError:
		return audit.Failed
	case status >= http.StatusBadRequest:
		return audit.Refused
	}
	return audit.Done
}

func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
