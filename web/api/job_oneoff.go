package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
)

// OneOffPath is where the one-call form lies besides Prefix + OneOffPath: callers of other systems know it there.
const OneOffPath = "/v1/jobs"

type oneOffAnswer struct {
	Status   int
	Location string `header:"Location"`
	Body     wire.OneOff
}

func (a *API) oneOff() {
	for _, path := range []string{Prefix + OneOffPath, OneOffPath} {
		registerAt(a, huma.Operation{
			OperationID: "run-once", Method: http.MethodPost, Path: path, Tags: []string{"jobs"}, DefaultStatus: http.StatusCreated,
			Hidden:  path == OneOffPath,
			Summary: "Run a program once",
			Description: "Defines a one-off job in one call. 201 with the new job; 200 with the first when the Idempotency-Key was used before, " +
				"422 key_reused when it was used for the same job_type with another payload, schedule_time or retries. " +
				"The job is deleted some time after its run has ended (--retention-one-off), unless it was edited. Also at " + OneOffPath + ".",
		}, a.createOneOff)
	}
}

func (a *API) createOneOff(ctx context.Context, in *struct {
	InNamespace
	Key  string `header:"Idempotency-Key" maxLength:"255" doc:"The same key with the same job_type is the same job, and must come with the same body"`
	Body wire.OneOffRequest
}) (*oneOffAnswer, error) {
	job, run, existed, err := a.service.CreateOneOff(ctx, in.Namespace, service.OneOff{
		By: service.Actor(ctx), Binary: in.Body.JobType, At: in.Body.ScheduleTime, Payload: in.Body.Payload, Retries: in.Body.Retries, Key: in.Key,
	})
	if err != nil {
		return nil, err
	}
	next, err := a.service.Jobs.NextSlots(ctx, job)
	if err != nil {
		return nil, err
	}
	answer := &oneOffAnswer{Status: statusOf(!existed), Body: wire.OneOff{Job: viewJob(&job, next[job.UID]), RunID: run}}
	if !existed {
		answer.Location = Prefix + "/jobs/" + job.Name
		if job.Namespace != engine.DefaultNamespace {
			answer.Location += "?namespace=" + job.Namespace
		}
	}
	return answer, nil
}
