package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

// runAnswer is one run.
type runAnswer struct {
	Status   int
	Location string `header:"Location" doc:"Where a run lies that was made"`
	Body     wire.Run
}

func (a *API) jobRun() {
	register(a, huma.Operation{
		OperationID: "run-job", Method: http.MethodPost, Path: "/jobs/{name}/run", Tags: []string{"jobs"}, DefaultStatus: http.StatusCreated,
		Summary: "Run a job now",
		Description: "201 with the new run; 200 with the first run when the Idempotency-Key was used before, 422 key_reused when it was used with another payload, args or at. " +
			"The engine makes the run a moment later: until then it can be read and cancelled by its id, is scheduled and accepted, and is in no list.",
	}, func(ctx context.Context, in *struct {
		DefinitionPath
		Key  string `header:"Idempotency-Key" maxLength:"255" doc:"The same key is the same run, and must come with the same body"`
		Body *wire.RunRequest
	}) (*runAnswer, error) {
		start := service.Start{By: service.Actor(ctx), Key: in.Key}
		if in.Body != nil {
			start.Payload, start.Args, start.At = in.Body.Payload, in.Body.Args, in.Body.At
		}
		run, existed, err := a.service.StartRun(ctx, in.Namespace, in.Name, start)
		if err != nil {
			return nil, err
		}
		answer := &runAnswer{Status: statusOf(!existed), Body: viewRun(&run, true)}
		if !existed {
			answer.Location = Prefix + "/runs/" + run.ID
		}
		return answer, nil
	})
}
