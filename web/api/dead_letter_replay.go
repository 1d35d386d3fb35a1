package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) deadLetterReplay() {
	register(a, huma.Operation{
		OperationID: "replay-dead-letter", Method: http.MethodPost, Path: "/dead-letters/{id}/replay", Tags: []string{"runs"}, DefaultStatus: http.StatusAccepted,
		Summary:     "Try a dead run again",
		Description: "One more attempt: 202 as soon as the request is durable; the dead letter is deleted once the attempt is made. For a task it resumes the wave with all tasks that failed, and 409 says that the wave has not ended yet. A run that is being tried again already is left to it, so that to ask twice is to ask once.",
	}, func(ctx context.Context, in *struct {
		RunPath
		Keyed
	}) (*runAnswer, error) {
		request := service.Request{Namespace: in.Namespace, Operation: "replay-dead-letter " + in.ID, Key: in.Key}
		return a.triedAgain(ctx, request, &in.RunPath, a.service.ReplayDeadLetter)
	})
}

type deadLettersAnswer struct {
	Status int
	Body   wire.DeadLettersHandled
}

type deadLetterSelection struct {
	InNamespace
	Body wire.DeadLetterSelection
}

func (in *deadLetterSelection) filter() service.DeadLetterFilter {
	return service.DeadLetterFilter{Namespace: in.Namespace, Job: in.Body.Job, Until: in.Body.Until, Cursor: in.Body.Cursor}
}

func (a *API) deadLettersReplay() {
	register(a, huma.Operation{
		OperationID: "replay-dead-letters", Method: http.MethodPost, Path: "/dead-letters/replay", Tags: []string{"runs"}, DefaultStatus: http.StatusAccepted,
		Summary:     "Try many dead runs again",
		Description: "All that the selection fits, each as by POST /dead-letters/{id}/replay, at most 1000 a request. Those that cannot be retried are listed with their reasons, and do not keep the others back.",
	}, func(ctx context.Context, in *deadLetterSelection) (*deadLettersAnswer, error) {
		handled, err := a.service.ReplayDeadLetters(ctx, in.filter(), service.Actor(ctx))
		if err != nil {
			return nil, err
		}
		return &deadLettersAnswer{Status: http.StatusAccepted, Body: viewHandled(&handled)}, nil
	})
}

func (a *API) deadLettersPurge() {
	register(a, huma.Operation{
		OperationID: "purge-dead-letters", Method: http.MethodPost, Path: "/dead-letters/purge", Tags: []string{"runs"},
		Summary: "Purge many dead letters", Description: "All that the selection fits, at most 1000 a request. Their runs stay in the history.",
	}, func(ctx context.Context, in *deadLetterSelection) (*deadLettersAnswer, error) {
		handled, err := a.service.PurgeDeadLetters(ctx, in.filter())
		if err != nil {
			return nil, err
		}
		return &deadLettersAnswer{Status: http.StatusOK, Body: viewHandled(&handled)}, nil
	})
}

func viewHandled(h *service.DeadLettersHandled) wire.DeadLettersHandled {
	view := wire.DeadLettersHandled{Items: append([]string{}, h.Done...), Refused: []wire.DeadLetterRefused{}, Next: h.Next}
	for _, r := range h.Refused {
		view.Refused = append(view.Refused, wire.DeadLetterRefused{ID: r.Letter.RunID, Job: r.Letter.Job, Code: r.Code, Detail: r.Detail})
	}
	return view
}
