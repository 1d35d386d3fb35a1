package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

type backfillAnswer struct {
	Status int
	Body   wire.Backfill
}

func (a *API) jobBackfill() {
	register(a, huma.Operation{
		OperationID: "backfill-job", Method: http.MethodPost, Path: "/jobs/{name}/backfill", Tags: []string{"jobs"}, DefaultStatus: http.StatusAccepted,
		Summary:     "Run past slots",
		Description: "Runs the slots of a range that have no run yet, one after the other: 202, or 200 for a dry run and where there is nothing to do. Requesting the same range again is the same backfill.",
	}, func(ctx context.Context, in *struct {
		DefinitionPath
		Key  string `header:"Idempotency-Key" maxLength:"255" doc:"The same key is the same request: sent again it changes nothing, and with another body it is refused (422, key_reused)"`
		Body wire.BackfillRequest
	}) (*backfillAnswer, error) {
		request := service.Request{Namespace: in.Namespace, Operation: "backfill-job " + in.Name, Key: in.Key, Asked: in.Body}
		if in.Body.DryRun {
			request.Key = "" // it does nothing
		}
		backfill := func() (service.Backfill, error) {
			return a.service.BackfillJob(ctx, in.Namespace, in.Name, in.Body.From, in.Body.To, service.Actor(ctx), in.Body.DryRun)
		}
		plan, err := once(ctx, a.service, request, backfill, backfill) // slots that have a run are left out
		if err != nil {
			return nil, err
		}
		answer := &backfillAnswer{Status: http.StatusAccepted, Body: wire.Backfill{Items: []wire.BackfillSlot{}, New: plan.New, DryRun: in.Body.DryRun}}
		if in.Body.DryRun || plan.New == 0 {
			answer.Status = http.StatusOK
		}
		for _, slot := range plan.Slots {
			answer.Body.Items = append(answer.Body.Items, wire.BackfillSlot{Slot: slot.Slot, Run: slot.Run, Status: slot.Status.String()})
		}
		return answer, nil
	})
}
