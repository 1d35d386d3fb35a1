package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

type timelineRequest struct {
	InNamespace
	From     string    `query:"from" doc:"Where it begins: a time, or how long ago; default 6h" example:"6h"`
	Until    string    `query:"until" doc:"Where it ends: a time, or how long ago; default 2 hours from now, or now where from is given as a time that has passed"`
	Text     string    `query:"q" maxLength:"200" doc:"In the name of the job or DAG; case is ignored"`
	Label    string    `query:"label" maxLength:"200" doc:"Of the job or DAG: a key, or key=value" example:"team=finance"`
	Tier     spec.Tier `query:"tier"`
	Statuses []string  `query:"status,explode" doc:"Runs with one of these statuses; planned slots are scheduled" example:"failed,dead"`
	After    string    `query:"after" doc:"What next of the answer before says: further lanes"`
	Limit    int       `query:"limit" minimum:"1" maximum:"500" default:"500" doc:"Lanes at most"`
}

func (a *API) timeline() {
	register(a, huma.Operation{
		OperationID: "get-timeline", Method: http.MethodGet, Path: "/timeline", Tags: []string{"runs"},
		Summary: "What ran and what is to come, by jobs and DAGs",
		Description: "A run is shown in a span that it waits or runs in. The newest 2,000 runs and waves are read: `reached` says from when on they are all. " +
			"Planned slots come from the schedules by the function that fires them.",
	}, func(ctx context.Context, in *timelineRequest) (*struct{ Body wire.Timeline }, error) {
		query := service.TimelineQuery{Namespace: in.Namespace, Text: in.Text, Label: in.Label, Tier: in.Tier, After: in.After, Lanes: in.Limit}
		var err error
		if query.Statuses, err = statusesOf(in.Statuses); err != nil {
			return nil, err
		}
		if query.From, err = a.instant("from", in.From); err != nil {
			return nil, err
		}
		if query.Until, err = a.instant("until", in.Until); err != nil {
			return nil, err
		}
		now := a.config.Now().UTC()
		if query.From.IsZero() {
			query.From = now.Add(-6 * time.Hour)
		}
		if query.Until.IsZero() {
			query.Until = now.Add(2 * time.Hour)
		}
		found, err := a.service.Timeline(ctx, query)
		if err != nil {
			return nil, err
		}
		return &struct{ Body wire.Timeline }{viewTimeline(&found)}, nil
	})
}

func viewTimeline(t *service.Timeline) wire.Timeline {
	view := wire.Timeline{From: t.From, Until: t.Until, Lanes: []wire.TimelineLane{}, Buckets: []wire.TimelineCount{}, Next: t.Next, All: t.All, Reached: t.Reached, Beyond: t.Beyond}
	for i := range t.Lanes {
		lane := &t.Lanes[i]
		one := wire.TimelineLane{
			Kind: kindOf(lane.DAG), Name: lane.Name, Runs: []wire.TimelineRun{}, Planned: lane.Planned, PlannedMore: lane.More, Takes: lane.Takes.Seconds(), Reached: lane.Reached,
		}
		if one.Planned == nil {
			one.Planned = []time.Time{}
		}
		for j := range lane.Bars {
			bar := &lane.Bars[j]
			one.Runs = append(one.Runs, wire.TimelineRun{
				ID: bar.ID, Epoch: bar.Epoch, Status: bar.Status, Slot: bar.Slot, Due: bar.Due, StartedAt: bar.Started, FinishedAt: bar.Finished,
				Waited: bar.Waited(t.Now).Seconds(), Took: bar.Took(t.Now).Seconds(), Attempts: bar.Attempts,
			})
		}
		view.Lanes = append(view.Lanes, one)
	}
	for i := range t.Past {
		past := &t.Past[i]
		count := wire.TimelineCount{From: past.From, Until: past.Until, Runs: map[engine.Status]int{}}
		for _, status := range engine.Statuses() {
			if n := past.Runs[status]; n.N > 0 || n.More {
				count.Runs[status] = n.N
				count.Capped = count.Capped || n.More
			}
		}
		view.Buckets = append(view.Buckets, count)
	}
	for i := range t.Future {
		future := &t.Future[i]
		view.Buckets = append(view.Buckets, wire.TimelineCount{From: future.From, Until: future.Until, Slots: future.Slots.N, Capped: future.Slots.More})
	}
	return view
}

func kindOf(dag bool) string {
	if dag {
		return spec.KindDAG
	}
	return spec.KindJob
}

func (a *API) collisions() {
	register(a, huma.Operation{
		OperationID: "list-collisions", Method: http.MethodGet, Path: "/collisions", Tags: []string{"definitions"},
		Summary: "When more runs are planned than there are slots",
		Description: "Of the next seven days, from the schedules of a namespace and from how long the last runs took, against the slots of the executors that serve each tier. " +
			"Of a DAG its roots count.",
	}, func(ctx context.Context, in *InNamespace) (*struct{ Body wire.Collisions }, error) {
		found, err := a.service.Collisions(ctx, in.Namespace)
		if err != nil {
			return nil, err
		}
		view := wire.Collisions{
			From: found.Window.From, Until: found.Window.Until, Items: []wire.Collision{}, More: found.More, Capacity: found.Capacity, Notes: append([]string{}, found.Notes...),
		}
		for i := range found.List {
			c := &found.List[i]
			one := wire.Collision{
				Tier: c.Tier, At: c.At, Runs: c.Runs, Peak: c.Peak, Capacity: c.Capacity, Lag: c.Lag.Seconds(), More: c.MoreOf, Schedules: []wire.CollisionSchedule{},
			}
			for _, of := range c.Of {
				one.Schedules = append(one.Schedules, wire.CollisionSchedule{
					Kind: kindOf(of.DAG), Name: of.Name, Root: of.Root, Schedule: of.Schedule, Runs: of.Runs, Takes: of.Takes.Seconds(), Spread: of.Spread, Why: of.Why,
				})
			}
			view.Items = append(view.Items, one)
		}
		return &struct{ Body wire.Collisions }{view}, nil
	})
	register(a, huma.Operation{
		OperationID: "spread-schedules", Method: http.MethodPost, Path: "/collisions/spread", Tags: []string{"definitions"},
		Summary: "Spread schedules by H",
		Description: "Puts the minute of each schedule where the hash of its name puts it: `0 2 * * *` becomes `H 2 * * *`, which keeps the hour. Each is saved as an edit of " +
			"its own, with a result of its own; with `dry_run` nothing is saved.",
	}, func(ctx context.Context, in *struct {
		InNamespace
		Body wire.SpreadRequest
	}) (*struct{ Body wire.List[wire.SpreadResult] }, error) {
		these := make([]service.SpreadOf, len(in.Body.Schedules))
		for i, one := range in.Body.Schedules {
			revision, err := ifMatch(one.ETag)
			if err != nil {
				return nil, invalid("invalid_request", "body.schedules["+strconv.Itoa(i)+"].etag", "etag must be one that was given out for %s, such as \"3\"", one.Name)
			}
			these[i] = service.SpreadOf{DAG: one.Kind == spec.KindDAG, Name: one.Name, Revision: revision}
		}
		results, err := a.service.Spread(ctx, in.Namespace, these, service.Actor(ctx), in.Body.DryRun)
		if err != nil {
			return nil, err
		}
		list := wire.List[wire.SpreadResult]{Items: []wire.SpreadResult{}}
		for i := range results {
			r := &results[i]
			one := wire.SpreadResult{
				Kind: kindOf(r.DAG), Name: r.Name, Before: r.Before, After: r.After, OldNext: r.Old, NewNext: r.New, Saved: r.Saved, Problem: r.Problem,
			}
			if r.Revision > 0 {
				one.ETag = strconv.Quote(strconv.FormatInt(r.Revision, 10))
			}
			list.Items = append(list.Items, one)
		}
		return &struct{ Body wire.List[wire.SpreadResult] }{list}, nil
	})
}
