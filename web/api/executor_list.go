package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

func (a *API) executorList() {
	register(a, huma.Operation{
		OperationID: "list-executors", Method: http.MethodGet, Path: "/executors", Tags: []string{"cluster"},
		Summary: "List executors that are alive",
	}, func(ctx context.Context, _ *struct{}) (*pageAnswer[wire.Executor], error) {
		executors, err := a.service.Executors(ctx)
		if err != nil {
			return nil, err
		}
		var items []wire.Executor
		for i := range executors {
			items = append(items, viewExecutor(&executors[i]))
		}
		return answerPage(items, ""), nil
	})
}

func viewExecutor(e *engine.Presence) wire.Executor {
	view := wire.Executor{
		ID: e.ID, Host: e.Host, PID: e.PID, Version: e.Version, Tiers: e.Tiers, Slots: e.Slots, Running: []wire.RunningAttempt{},
		Labels: e.Labels, Isolation: e.Isolation, Rights: string(e.Rights), Draining: e.Draining, Since: e.Since, Seen: e.Seen,
	}
	if e.Drain != nil && e.Drain.Draining {
		view.DrainedBy, view.DrainedAt = e.Drain.By, e.Drain.At
	}
	if r := e.Refused; r != nil {
		view.Refused = &wire.Refused{Count: r.Count, Last: string(r.Last), Why: r.Why, At: r.At}
	}
	for _, r := range e.Running {
		view.Running = append(view.Running, wire.RunningAttempt{Run: r.Run, Attempt: r.Attempt, Job: r.Job, Since: r.Since})
	}
	return view
}
