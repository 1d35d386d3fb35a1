package api

import (
	"context"
	"net/http"
	"time"

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

func (a *API) jobCalendar() {
	register(a, huma.Operation{
		OperationID: "get-job-calendar", Method: http.MethodGet, Path: "/jobs/{name}/calendar", Tags: []string{"jobs"},
		Summary:     "A job's slots by days",
		Description: "What became of the slots of a month, day by day in the zone of the schedule. At most 500 runs of a day are counted: more tells.",
	}, func(ctx context.Context, in *struct {
		DefinitionPath
		Month string `query:"month" doc:"The month; absent for the present one" example:"2026-11"`
	}) (*struct{ Body wire.Calendar }, error) {
		month := a.config.Now()
		if in.Month != "" {
			parsed, err := time.Parse("2006-01", in.Month)
			if err != nil {
				return nil, invalid("invalid_request", "query.month", "month must be a month such as 2026-11, not %q", in.Month)
			}
			month = parsed.AddDate(0, 0, 14) // the same month in every zone
		}
		calendar, err := a.service.Calendar(ctx, in.Namespace, in.Name, month)
		if err != nil {
			return nil, err
		}
		body := wire.Calendar{Month: calendar.Month.Format("2006-01"), Timezone: calendar.Zone.String()}
		for i := range calendar.Days {
			day := &calendar.Days[i]
			reasons := map[string]int64{}
			for reason, count := range day.Reasons {
				reasons[string(reason)] = count
			}
			body.Items = append(body.Items, wire.CalendarDay{
				From: day.From, Fired: day.Fired(), Failed: day.Bad, Skipped: day.Skipped, Missed: day.Missed,
				ByHand: day.ByHand, Planned: day.Planned, More: day.More, Reasons: reasons,
			})
		}
		return &struct{ Body wire.Calendar }{body}, nil
	})
}
