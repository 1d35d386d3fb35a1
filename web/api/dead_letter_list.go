package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) deadLetterList() {
	register(a, huma.Operation{
		OperationID: "list-dead-letters", Method: http.MethodGet, Path: "/dead-letters", Tags: []string{"runs"},
		Summary: "List runs that failed all their attempts", Description: "The newest first. A page may be short where what matches is rare: follow next.",
	}, func(ctx context.Context, in *struct {
		InNamespace
		Page
		Job   string `query:"job" doc:"Only those of this job; of a DAG for all its tasks; or dag/task" example:"nightly-report"`
		Until string `query:"until" doc:"Only those that died until a time, or until so long ago: 24h"`
	}) (*pageAnswer[wire.DeadLetter], error) {
		until, err := a.instant("until", in.Until)
		if err != nil {
			return nil, err
		}
		letters, next, err := a.service.DeadLetters(ctx, service.DeadLetterFilter{
			Namespace: in.Namespace, Job: in.Job, Until: until, Cursor: in.Cursor, Limit: in.Limit,
		})
		if err != nil {
			return nil, err
		}
		var items []wire.DeadLetter
		for i := range letters {
			items = append(items, viewDeadLetter(&letters[i]))
		}
		return answerPage(items, next), nil
	})
}

func viewDeadLetter(l *engine.DeadLetter) wire.DeadLetter {
	return wire.DeadLetter{ID: l.RunID, Namespace: l.Namespace, Job: l.Job, JobUID: l.JobUID, Error: l.Error, Attempts: l.Attempts, At: l.At}
}
