package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
)

// AskedCalendar is the request for a month of a definition's slots.
type AskedCalendar struct {
	DefinitionPath
	Month    string `query:"month" doc:"The month; absent for the present one" example:"2026-11"`
	Timezone string `query:"timezone" doc:"The IANA zone of the days; default that of the schedule" example:"Europe/Berlin"`
}

func (a *API) jobCalendar() {
	register(a, huma.Operation{
		OperationID: "get-job-calendar", Method: http.MethodGet, Path: "/jobs/{name}/calendar", Tags: []string{"jobs"},
		Summary:     "A job's slots by days",
		Description: "What became of the slots of a month, day by day in the zone of the schedule. At most 500 runs of a day are counted: more is true then.",
	}, func(ctx context.Context, in *AskedCalendar) (*calendarAnswer, error) {
		return calendarOf(ctx, a, a.service.Jobs, in, "")
	})
}

func (a *API) dagCalendar() {
	register(a, huma.Operation{
		OperationID: "get-dag-calendar", Method: http.MethodGet, Path: "/dags/{name}/calendar", Tags: []string{"dags"},
		Summary:     "The slots of a DAG's root by days",
		Description: "What became of the slots of a month, day by day in the zone of the schedule. At most 200 runs of a day are counted: more is true then.",
	}, func(ctx context.Context, in *struct {
		AskedCalendar
		Root string `query:"root" doc:"The root; may be left out where only one has a schedule" example:"orders"`
	}) (*calendarAnswer, error) {
		return calendarOf(ctx, a, a.service.DAGs, &in.AskedCalendar, in.Root)
	})
}

type calendarAnswer struct{ Body wire.Calendar }

func calendarOf[S engine.Spec](ctx context.Context, a *API, of *service.Definitions[S], in *AskedCalendar, root string) (*calendarAnswer, error) {
	month := a.config.Now()
	if in.Month != "" {
		parsed, err := time.Parse("2006-01", in.Month)
		if err != nil {
			return nil, invalid("invalid_request", "query.month", "month must be a month such as 2026-11, not %q", in.Month)
		}
		month = parsed.AddDate(0, 0, 14) // the same month in every zone
	}
	var zone *time.Location
	if in.Timezone != "" {
		var err error
		if zone, err = time.LoadLocation(in.Timezone); err != nil || in.Timezone == "Local" {
			return nil, invalid("invalid_request", "query.timezone", "timezone must be an IANA zone such as Europe/Berlin, not %q", in.Timezone)
		}
	}
	definition, err := of.Get(ctx, in.Namespace, in.Name)
	if err != nil {
		return nil, err
	}
	calendar, err := of.Calendar(ctx, &definition, root, month, zone)
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
	return &calendarAnswer{body}, nil
}
