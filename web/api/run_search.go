package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

type logSearchRequest struct {
	RunPath
	Attempt int    `query:"attempt" minimum:"0" doc:"From 1; the latest if absent"`
	Text    string `query:"q" maxLength:"200" doc:"The text; the case of its letters is ignored"`
	Errors  bool   `query:"errors" doc:"Lines that look like errors, instead of a text"`
	From    string `query:"from" doc:"Where to begin: the number of a line, from 1, or the next of the answer before" example:"120"`
	Limit   int    `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"The most lines of an answer"`
}

type logSearchAnswer struct{ Body wire.LogMatches }

func (a *API) runSearch() {
	register(a, huma.Operation{
		OperationID: "search-logs", Method: http.MethodGet, Path: "/runs/{id}/logs/search", Tags: []string{"runs"},
		Summary: "Search a run's output",
		Description: "Tells in which lines a text stands. One answer looks through 64 MiB or for a second at most: while there is a next, " +
			"give it as from to search on, also where nothing was found so far.",
	}, func(ctx context.Context, in *logSearchRequest) (*logSearchAnswer, error) {
		log, err := a.service.OpenLog(ctx, in.Namespace, in.ID, in.Attempt)
		if err != nil {
			return nil, err
		}
		found, err := log.Search(ctx, service.LogSearch{Text: in.Text, Errors: in.Errors, From: in.From, Limit: in.Limit})
		if err != nil {
			return nil, err
		}
		body := wire.LogMatches{Items: []wire.LogMatch{}, Next: found.Next, Searched: found.Searched, Size: log.Size, Attempt: log.Attempt}
		for _, match := range found.Matches {
			body.Items = append(body.Items, wire.LogMatch{Line: match.Line, Offset: match.Offset, Text: strings.ToValidUTF8(string(match.Text), "\ufffd")})
		}
		return &logSearchAnswer{Body: body}, nil
	})
}
