package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

// AskedBackfill is the request for a backfill.
type AskedBackfill struct {
	DefinitionPath
	Keyed
	Body wire.BackfillRequest
}

// backfillAnswer is what a backfill does, or would do.
type backfillAnswer[B any] struct {
	Status int
	Body   B
}

func (a *API) jobBackfill() {
	register(a, huma.Operation{
		OperationID: "backfill-job", Method: http.MethodPost, Path: "/jobs/{name}/backfill", Tags: []string{"jobs"}, DefaultStatus: http.StatusAccepted,
		Summary:     "Run past slots",
		Description: "Runs the slots of a range that have no run yet, one after the other: 202, or 200 for a dry run and where there is nothing to do. Requesting the same range again is the same backfill.",
	}, func(ctx context.Context, in *AskedBackfill) (*backfillAnswer[wire.Backfill], error) {
		plan, err := backfillOnce(ctx, a, "backfill-job ", in, a.service.BackfillJob)
		if err != nil {
			return nil, err
		}
		body := wire.Backfill{Items: []wire.BackfillSlot{}, New: plan.New, DryRun: in.Body.DryRun}
		for _, slot := range plan.Slots {
			body.Items = append(body.Items, wire.BackfillSlot{Slot: slot.Slot, Run: slot.Run, Status: slot.Status.String()})
		}
		return &backfillAnswer[wire.Backfill]{backfillStatus(in, plan.New), body}, nil
	})
}

func (a *API) dagBackfill() {
	register(a, huma.Operation{
		OperationID: "backfill-dag", Method: http.MethodPost, Path: "/dags/{name}/backfill", Tags: []string{"dags"}, DefaultStatus: http.StatusAccepted,
		Summary: "Make waves of past slots",
		Description: "Each wave has one slot of every root, as the schedule would have made them; waves of which a slot was had are left out. They run one after the other, after all else that waits: " +
			"202, or 200 for a dry run and where there is nothing to do. Requesting the same range again is the same backfill.",
	}, func(ctx context.Context, in *AskedBackfill) (*backfillAnswer[wire.DAGBackfill], error) {
		plan, err := backfillOnce(ctx, a, "backfill-dag ", in, a.service.BackfillDAG)
		if err != nil {
			return nil, err
		}
		body := wire.DAGBackfill{Items: []wire.BackfillWave{}, New: plan.New, DryRun: in.Body.DryRun}
		for i := range plan.Waves {
			one := &plan.Waves[i]
			item := wire.BackfillWave{Slot: one.Slot, Slots: one.Slots, Wave: one.Wave}
			if one.Wave != "" {
				item.Status = one.Status.String()
			}
			body.Items = append(body.Items, item)
		}
		return &backfillAnswer[wire.DAGBackfill]{backfillStatus(in, plan.New), body}, nil
	})
}

// backfillOnce does a backfill, or plans it, once for each idempotency key: slots that have a run or wave are left out.
func backfillOnce[P any](
	ctx context.Context, a *API, operation string, in *AskedBackfill,
	backfill func(ctx context.Context, namespace, name string, from, to time.Time, by string, dryRun bool) (P, error),
) (P, error) {
	request := service.Request{Namespace: in.Namespace, Operation: operation + in.Name, Key: in.Key, Asked: in.Body}
	if in.Body.DryRun {
		request.Key = "" // it does nothing
	}
	do := func() (P, error) {
		return backfill(ctx, in.Namespace, in.Name, in.Body.From, in.Body.To, service.Actor(ctx), in.Body.DryRun)
	}
	return once(ctx, a.service, request, do, do)
}

func backfillStatus(in *AskedBackfill, made int) int {
	if in.Body.DryRun || made == 0 {
		return http.StatusOK
	}
	return http.StatusAccepted
}
