package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) scaling() {
	type bounds struct {
		Min    int    `query:"min" minimum:"0" maximum:"100000" doc:"Never want fewer executors of a tier"`
		Max    int    `query:"max" minimum:"0" maximum:"100000" doc:"Never want more executors of a tier; 0 is any number"`
		Slots  int    `query:"slots" minimum:"0" maximum:"100000" doc:"Slots of an executor that would be started; 0: as many as those that are alive have"`
		Within string `query:"within" example:"60s" doc:"How long a run may wait for an executor; default 1m"`
	}
	register(a, huma.Operation{
		OperationID: "get-scaling", Method: http.MethodGet, Path: "/scaling", Tags: []string{"cluster"},
		Summary: "How many executors each tier needs",
		Description: "For the metrics-api scaler of KEDA: `tiers.light.wanted` is a plain number. It follows from what waits, for how long, what runs, and how long " +
			"runs take on average.",
	}, func(ctx context.Context, in *bounds) (*struct{ Body wire.Scaling }, error) {
		ask := service.ScalingBounds{Min: in.Min, Max: in.Max, Slots: in.Slots}
		if in.Within != "" {
			var within spec.Duration
			if err := within.UnmarshalText([]byte(in.Within)); err != nil || within <= 0 {
				return nil, NewProblem(http.StatusBadRequest, "invalid_query", "within: write a duration such as 60s")
			}
			ask.Within = time.Duration(within)
		}
		if in.Max > 0 && in.Max < in.Min {
			return nil, NewProblem(http.StatusBadRequest, "invalid_query", "max is less than min")
		}
		tiers, err := a.service.Scaling(ctx, ask)
		if err != nil {
			return nil, err
		}
		view := wire.Scaling{Tiers: map[spec.Tier]wire.TierScaling{}}
		for i := range tiers {
			t := &tiers[i]
			view.Tiers[t.Tier] = wire.TierScaling{
				Wanted: t.Wanted, Alive: t.Alive, Waiting: t.Waiting, WaitingForLabels: t.WaitingLabels, Busy: t.Busy, Oldest: t.Oldest.Seconds(),
				Average: t.Average.Seconds(), SlotsOfOne: t.Slots, SlotsWanted: t.SlotsWanted, Why: t.Why,
			}
		}
		return &struct{ Body wire.Scaling }{view}, nil
	})
}
