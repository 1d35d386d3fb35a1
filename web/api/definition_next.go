package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/cron"
)

// AskedNext is the request for the next slots of a definition.
type AskedNext struct {
	DefinitionPath
	Count int    `query:"count" default:"10" minimum:"1" maximum:"1000" doc:"How many slots"`
	After string `query:"after" doc:"Slots after this time; now if absent"`
}

type previewAnswer struct {
	Body wire.Preview
}

func (a *API) jobNext() {
	register(a, huma.Operation{
		OperationID: "next-slots", Method: http.MethodGet, Path: "/jobs/{name}/next", Tags: []string{"jobs"},
		Summary: "When a job fires next", Description: "Of a paused job: when it would, if it were resumed. Gaps and repeats of the clock are explained in words.",
	}, func(ctx context.Context, in *AskedNext) (*previewAnswer, error) {
		after, err := a.instant("after", in.After)
		if err != nil {
			return nil, err
		}
		slots, schedules, err := a.service.Jobs.Preview(ctx, in.Namespace, in.Name, after, in.Count)
		if err != nil {
			return nil, err
		}
		answer := answerPreview(nil, schedules[0].Description)
		for _, s := range slots {
			answer.Body.Items = append(answer.Body.Items, viewSlot(s.Slot))
		}
		return answer, nil
	})
}

func (a *API) dagNext() {
	register(a, huma.Operation{
		OperationID: "next-dag-slots", Method: http.MethodGet, Path: "/dags/{name}/next", Tags: []string{"dags"},
		Summary:     "When a DAG's roots fire next",
		Description: "Of all roots together, the earliest first; of a paused DAG when they would, if it were resumed. A wave has one slot of each root: what comes while it is open follows the overlap policy.",
	}, func(ctx context.Context, in *AskedNext) (*struct{ Body wire.DAGPreview }, error) {
		after, err := a.instant("after", in.After)
		if err != nil {
			return nil, err
		}
		slots, schedules, err := a.service.DAGs.Preview(ctx, in.Namespace, in.Name, after, in.Count)
		if err != nil {
			return nil, err
		}
		answer := &struct{ Body wire.DAGPreview }{wire.DAGPreview{Items: []wire.DAGSlot{}, Roots: []wire.DAGRootSchedule{}}}
		for _, s := range slots {
			answer.Body.Items = append(answer.Body.Items, wire.DAGSlot{Root: s.Root, Slot: viewSlot(s.Slot)})
		}
		for _, s := range schedules {
			answer.Body.Roots = append(answer.Body.Roots, wire.DAGRootSchedule{Root: s.Root, Description: s.Description})
		}
		return answer, nil
	})
}

func answerPreview(slots []cron.Slot, description string) *previewAnswer {
	answer := &previewAnswer{Body: wire.Preview{Items: []wire.Slot{}, Description: description}}
	for _, s := range slots {
		answer.Body.Items = append(answer.Body.Items, viewSlot(s))
	}
	return answer
}

func viewSlot(s cron.Slot) wire.Slot { return wire.Slot{Slot: s.Slot, Local: s.Local, Note: s.Note} }
