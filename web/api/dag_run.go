package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) dagRun() {
	register(a, huma.Operation{
		OperationID: "run-dag", Method: http.MethodPost, Path: "/dags/{name}/run", Tags: []string{"dags"}, DefaultStatus: http.StatusCreated,
		Summary: "Start a wave of a DAG",
		Description: "All its roots start at once, as soon as no other wave is open and the time of at has come. 201 with the new wave; 200 with the first one when the Idempotency-Key was used before, " +
			"422 key_reused when it was used with another payload, args or at. The engine makes the wave a moment later: until then it can be read and cancelled by its id, " +
			"is scheduled and accepted, and is in no list.",
	}, func(ctx context.Context, in *struct {
		DefinitionPath
		Key  string `header:"Idempotency-Key" maxLength:"255" doc:"The same key is the same wave, and must come with the same body"`
		Body *wire.WaveRequest
	}) (*waveAnswer, error) {
		start := service.Start{By: service.Actor(ctx), Key: in.Key}
		if in.Body != nil {
			start.Payload, start.Args, start.At = in.Body.Payload, in.Body.Args, in.Body.At
		}
		wave, existed, err := a.service.StartWave(ctx, in.Namespace, in.Name, start)
		if err != nil {
			return nil, err
		}
		answer := &waveAnswer{Status: statusOf(!existed), Body: viewWave(&wave)}
		if !existed {
			answer.Location = Prefix + "/waves/" + wave.ID
		}
		return answer, nil
	})
}
