package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) dagBackfill() {
	register(a, huma.Operation{
		OperationID: "backfill-dag", Method: http.MethodPost, Path: "/dags/{name}/backfill", Tags: []string{"dags"}, DefaultStatus: http.StatusAccepted,
		Summary: "Make waves of past slots",
		Description: "Each wave has one slot of every root, as the schedule would have made them; waves of which a slot was had are left out. They run one after the other, after all else that waits: " +
			"202, or 200 for a dry run and where there is nothing to do. Requesting the same range again is the same backfill.",
	}, func(ctx context.Context, in *struct {
		DefinitionPath
		Key  string `header:"Idempotency-Key" maxLength:"255" doc:"The same key is the same request: sent again it changes nothing, and with another body it is refused (422, key_reused)"`
		Body wire.BackfillRequest
	}) (*struct {
		Status int
		Body   wire.DAGBackfill
	}, error) {
		request := service.Request{Namespace: in.Namespace, Operation: "backfill-dag " + in.Name, Key: in.Key, Asked: in.Body}
		if in.Body.DryRun {
			request.Key = "" // it does nothing
		}
		backfill := func() (service.DAGBackfill, error) {
			return a.service.BackfillDAG(ctx, in.Namespace, in.Name, in.Body.From, in.Body.To, service.Actor(ctx), in.Body.DryRun)
		}
		plan, err := once(ctx, a.service, request, backfill, backfill) // slots that have a run are left out
		if err != nil {
			return nil, err
		}
		answer := &struct {
			Status int
			Body   wire.DAGBackfill
		}{Status: http.StatusAccepted, Body: wire.DAGBackfill{Items: []wire.BackfillWave{}, New: plan.New, DryRun: in.Body.DryRun}}
		if in.Body.DryRun || plan.New == 0 {
			answer.Status = http.StatusOK
		}
		for i := range plan.Waves {
			one := &plan.Waves[i]
			item := wire.BackfillWave{Slot: one.Slot, Slots: one.Slots, Wave: one.Wave}
			if one.Wave != "" {
				item.Status = one.Status.String()
			}
			answer.Body.Items = append(answer.Body.Items, item)
		}
		return answer, nil
	})
}
