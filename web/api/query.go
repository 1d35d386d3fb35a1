package api

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/spec"
)

// namespaceParameter is taken by every operation: clients send it with each request, also where an id leaves no choice.
const namespaceParameter = "namespace"

// refuseUnknownQuery answers a request with 400 whose query holds what its operation would ignore: a parameter that it
// does not know, or a second value of one that has one.
func (a *API) refuseUnknownQuery(ctx huma.Context, next func(huma.Context)) {
	address := ctx.URL()
	if problem := checkQuery(address.RawQuery, ctx.Operation().Parameters); problem != nil {
		_ = huma.WriteErr(a.huma, ctx, problem.Status, problem.Detail, problem) // a client that has gone needs no answer
		return
	}
	next(ctx)
}

// checkQuery returns what is wrong with a query for an operation with these parameters, nil if nothing is.
func checkQuery(raw string, parameters []*huma.Param) *Problem {
	if raw == "" {
		return nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return badQuery("invalid_request", "query", "the query cannot be read: "+err.Error())
	}
	known := map[string]bool{namespaceParameter: false} // and whether it may have several values
	for _, p := range parameters {
		if p.In == "query" {
			known[p.Name] = p.Schema != nil && p.Schema.Type == huma.TypeArray
		}
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		several, is := known[name]
		switch {
		case !is:
			return badQuery("unknown_parameter", "query."+name,
				fmt.Sprintf("the query parameter %q is unknown here: use %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
		case !several && len(query[name]) > 1:
			return badQuery("invalid_request", "query."+name, fmt.Sprintf("the query parameter %s is given %d times: give it once", name, len(query[name])))
		}
	}
	return nil
}

func badQuery(code, location, message string) *Problem {
	return NewProblem(http.StatusBadRequest, code, message, wire.FieldError{Location: location, Message: message})
}

// instant reads a time in a query: RFC 3339, or a duration, which is that long ago. "" is the zero time.
func (a *API) instant(name, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	// A + in a query is a space, and zones have one.
	if at, err := time.Parse(time.RFC3339Nano, strings.ReplaceAll(text, " ", "+")); err == nil {
		return at.UTC(), nil
	}
	var ago spec.Duration
	if err := ago.UnmarshalText([]byte(text)); err == nil {
		return a.config.Now().Add(-time.Duration(ago)).UTC(), nil
	}
	return time.Time{}, invalid("invalid_request", "query."+name,
		"%s must be a time such as 2026-12-31T23:59:59Z, or how long ago, such as 90m; not %q", name, text)
}

// ifMatch reads an If-Match header: the revision that a definition must have, 0 where any will do.
func ifMatch(header string) (revision int64, err error) {
	header = strings.TrimSpace(header)
	if header == "" || header == "*" {
		return 0, nil
	}
	text := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(header, "W/"), `"`), `"`)
	revision, err = strconv.ParseInt(text, 10, 64)
	if err != nil || revision < 1 {
		return 0, invalid("invalid_request", "header.If-Match", "If-Match must be an ETag that was given out for it, such as \"3\", not %s", header)
	}
	return revision, nil
}

func sizeInWords(bytes int64) string {
	return spec.Size(bytes).String()
}
