package web

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/tidewheel/tidewheel/web/api"
)

// answerError answers the error of a handler or a middleware: to programs as a problem, to users as a page.
func (s *Server) answerError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	problem := s.problemOf(c, err)
	if problem.Status == api.StatusClientGone {
		problem.Status = http.StatusServiceUnavailable // it is never read
	}
	if failed := s.writeError(c, problem); failed != nil && c.Request().Context().Err() == nil {
		s.config.Log.Warn("an error could not be answered", "request_id", RequestID(c.Request().Context()), "error", failed)
	}
}

func (s *Server) problemOf(c echo.Context, err error) *api.Problem {
	if problem, ok := api.ProblemOf(err); ok {
		return problem
	}
	var known *echo.HTTPError
	if errors.As(err, &known) && known.Code < http.StatusInternalServerError {
		path := c.Request().URL.Path
		switch known.Code {
		case http.StatusNotFound:
			return api.NewProblem(known.Code, "not_found", "there is nothing at "+path+": "+api.OpenAPIPath+" lists what there is")
		case http.StatusMethodNotAllowed:
			return api.NewProblem(known.Code, "method_not_allowed", path+" knows no "+c.Request().Method+
				", only "+c.Response().Header().Get("Allow"))
		case http.StatusRequestEntityTooLarge:
			return api.NewProblem(known.Code, "body_too_large", "the body is too large")
		}
		return api.NewProblem(known.Code, "invalid_request", http.StatusText(known.Code))
	}
	if c.Request().Context().Err() != nil {
		return api.NewProblem(api.StatusClientGone, "client_gone", "the request was given up")
	}
	id := RequestID(c.Request().Context())
	s.config.Log.Error("a request failed", "request_id", id, "method", c.Request().Method, "path", c.Request().URL.Path, "error", err)
	// If a part is gone, that is the answer, as it is the API's.
	look, cancel := context.WithTimeout(c.Request().Context(), readyTime)
	defer cancel()
	if problem, ok := api.ProblemOf(s.config.Service.Ready(look)); ok {
		problem.RequestID = id
		return problem
	}
	problem := api.NewProblem(http.StatusInternalServerError, "internal_error",
		"something went wrong inside the server; its log says more under this request_id")
	problem.RequestID = id
	return problem
}

func (s *Server) writeError(c echo.Context, problem *api.Problem) error {
	maps.Copy(c.Response().Header(), problem.GetHeaders())
	if c.Request().Method == http.MethodHead {
		return c.NoContent(problem.Status)
	}
	if isAPI(c.Request().URL.Path) || !strings.Contains(c.Request().Header.Get("Accept"), "text/html") {
		data, err := json.Marshal(problem.Problem)
		if err != nil {
			return err
		}
		return c.Blob(problem.Status, api.ProblemType, append(data, '\n'))
	}
	page := ErrorPage{Status: problem.Status, Title: problem.Title, Detail: problem.Detail, RequestID: problem.RequestID}
	if s.config.ErrorPage != nil {
		return s.config.ErrorPage(c, page)
	}
	return c.HTML(page.Status, `<!doctype html><html lang="en"><meta charset="utf-8"><title>`+strconv.Itoa(page.Status)+` · Tidewheel</title><h1>`+
		html.EscapeString(page.Title)+`</h1><p>`+html.EscapeString(page.Detail)+`</p><p>`+html.EscapeString(page.RequestID)+`</p></html>`)
}
