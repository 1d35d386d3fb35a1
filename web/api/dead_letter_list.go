package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
)

func (a *API) deadLetterList() {
	register(a, huma.Operation{
		OperationID: "list-dead-letters", Method: http.MethodGet, Path: "/dead-letters", Tags: []string{"runs"},
		Summary: "List runs that used up their retries", Description: "The newest first.",
	}, func(ctx context.Context, in *struct {
		InNamespace
		Page
	}) (*pageAnswer[wire.DeadLetter], error) {
		letters, next, err := a.service.DeadLetters(ctx, in.Namespace, in.Cursor, in.Limit)
		if err != nil {
			return nil, err
		}
		var items []wire.DeadLetter
		for _, l := range letters {
			items = append(items, wire.DeadLetter{ID: l.RunID, Namespace: l.Namespace, Job: l.Job, JobUID: l.JobUID, Error: l.Error, Attempts: l.Attempts, At: l.At})
		}
		return answerPage(items, next), nil
	})
}
