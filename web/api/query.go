package api

import (
	"strconv"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/spec"
)

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
