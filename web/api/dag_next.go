package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
)

func (a *API) dagNext() {
	register(a, huma.Operation{
		OperationID: "next-dag-slots", Method: http.MethodGet, Path: "/dags/{name}/next", Tags: []string{"dags"},
		Summary:     "When a DAG's roots fire next",
		Description: "Of all roots together, the earliest first; of a paused DAG when they would, if it were resumed. A wave has one slot of each root: what comes while it is open follows the overlap policy.",
	}, func(ctx context.Context, in *struct {
		DAGPath
		Count int    `query:"count" default:"10" minimum:"1" maximum:"1000" doc:"How many slots"`
		After string `query:"after" doc:"Slots after this time; now if absent"`
	}) (*struct{ Body wire.DAGPreview }, error) {
		after, err := a.instant("after", in.After)
		if err != nil {
			return nil, err
		}
		slots, schedules, err := a.service.NextDAGSlots(ctx, in.Namespace, in.Name, after, in.Count)
		if err != nil {
			return nil, err
		}
		answer := &struct{ Body wire.DAGPreview }{wire.DAGPreview{Items: []wire.DAGSlot{}, Roots: []wire.DAGRootSchedule{}}}
		for _, s := range slots {
			answer.Body.Items = append(answer.Body.Items, wire.DAGSlot{Root: s.Root, Slot: wire.Slot{Slot: s.Slot.Slot, Local: s.Local, Note: s.Note}})
		}
		for _, s := range schedules {
			answer.Body.Roots = append(answer.Body.Roots, wire.DAGRootSchedule{Root: s.Root, Description: s.Description})
		}
		return answer, nil
	})
}

func (a *API) dagSlots() {
	register(a, huma.Operation{
		OperationID: "list-dag-slots", Method: http.MethodGet, Path: "/dags/{name}/slots", Tags: []string{"dags"},
		Summary:     "What became of the slots of a DAG's root",
		Description: "The ledger, newest first: every slot is exactly one of fired, skipped and missed.",
	}, func(ctx context.Context, in *struct {
		DAGPath
		Page
		Root  string `query:"root" doc:"The root; may be left out where only one has a schedule" example:"orders"`
		Since string `query:"since" doc:"A time, or how long ago: 24h" example:"24h"`
	}) (*pageAnswer[wire.LedgerEntry], error) {
		since, err := a.instant("since", in.Since)
		if err != nil {
			return nil, err
		}
		entries, next, err := a.service.DAGLedgerPage(ctx, in.Namespace, in.Name, in.Root, since, time.Time{}, in.Cursor, in.Limit)
		if err != nil {
			return nil, err
		}
		return answerPage(viewLedger(entries), next), nil
	})
}
