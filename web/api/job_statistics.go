package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) jobStatistics() {
	register(a, huma.Operation{
		OperationID: "get-job-statistics", Method: http.MethodGet, Path: "/jobs/{name}/statistics", Tags: []string{"jobs"},
		Summary: "How a job's last runs went", Description: "How many succeeded, how long they took and how late they began: of the last 200 runs.",
	}, func(ctx context.Context, in *DefinitionPath) (*struct{ Body wire.JobStatistics }, error) {
		statistics, err := a.service.Statistics(ctx, in.Namespace, in.Name)
		if err != nil {
			return nil, err
		}
		return &struct{ Body wire.JobStatistics }{wire.JobStatistics{
			Runs: len(statistics.Marks), Ended: statistics.Ended, Succeeded: statistics.Succeeded,
			Duration: viewSpread(statistics.Duration), Lag: viewSpread(statistics.Lag),
		}}, nil
	})
}

func viewSpread(s service.Spread) wire.Spread {
	return wire.Spread{Count: s.Count, P50: s.P50.Seconds(), P95: s.P95.Seconds(), Max: s.Max.Seconds()}
}
