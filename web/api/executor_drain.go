package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

type executorAnswer struct {
	Body wire.Executor
}

func (a *API) executorDrain() {
	a.executorOrder(huma.Operation{
		OperationID: "drain-executor", Path: "/executors/{id}/drain", Summary: "Drain an executor",
		Description: "It takes no new runs, hands back those that have not begun, lets running ones finish, and stays alive. It takes effect within seconds.",
	}, true)
}

func (a *API) executorResume() {
	a.executorOrder(huma.Operation{
		OperationID: "resume-executor", Path: "/executors/{id}/resume", Summary: "Resume a drained executor",
		Description: "One that shuts down does not.",
	}, false)
}

func (a *API) executorOrder(op huma.Operation, drain bool) {
	op.Method, op.Tags = http.MethodPost, []string{"cluster"}
	register(a, op, func(ctx context.Context, in *struct {
		ID string `path:"id" maxLength:"200" doc:"As it stands in the list of executors"`
	}) (*executorAnswer, error) {
		found, err := a.service.DrainExecutor(ctx, in.ID, service.Actor(ctx), drain)
		if err != nil {
			return nil, err
		}
		return &executorAnswer{Body: viewExecutor(&found)}, nil
	})
}
