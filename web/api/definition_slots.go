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

// AskedSlots is the request for the ledger of a definition.
type AskedSlots struct {
	DefinitionPath
	Page
	Since string `query:"since" doc:"A time, or how long ago: 24h" example:"24h"`
}

func (a *API) jobSlots() {
	register(a, huma.Operation{
		OperationID: "list-slots", Method: http.MethodGet, Path: "/jobs/{name}/slots", Tags: []string{"jobs"},
		Summary:     "What became of a job's slots",
		Description: "The ledger, newest first: every slot is exactly one of fired, skipped and missed. A slot that was caught up or backfilled stands where its run was made.",
	}, func(ctx context.Context, in *AskedSlots) (*pageAnswer[wire.LedgerEntry], error) {
		return ledgerOf(ctx, a, a.service.Jobs, in, "")
	})
}

func (a *API) dagSlots() {
	register(a, huma.Operation{
		OperationID: "list-dag-slots", Method: http.MethodGet, Path: "/dags/{name}/slots", Tags: []string{"dags"},
		Summary:     "What became of the slots of a DAG's root",
		Description: "The ledger, newest first: every slot is exactly one of fired, skipped and missed.",
	}, func(ctx context.Context, in *struct {
		AskedSlots
		Root string `query:"root" doc:"The root; may be left out where only one has a schedule" example:"orders"`
	}) (*pageAnswer[wire.LedgerEntry], error) {
		return ledgerOf(ctx, a, a.service.DAGs, &in.AskedSlots, in.Root)
	})
}

func ledgerOf[S engine.Spec](
	ctx context.Context, a *API, of *service.Definitions[S], in *AskedSlots, root string,
) (*pageAnswer[wire.LedgerEntry], error) {
	since, err := a.instant("since", in.Since)
	if err != nil {
		return nil, err
	}
	entries, next, err := of.LedgerPage(ctx, in.Namespace, in.Name, root, since, time.Time{}, in.Cursor, in.Limit)
	if err != nil {
		return nil, err
	}
	var items []wire.LedgerEntry
	for _, e := range entries {
		items = append(items, wire.LedgerEntry{From: e.From, To: e.To, Count: e.Count, Outcome: e.Outcome, Reason: e.Reason, Run: e.Run, Status: e.Status.String()})
	}
	return answerPage(items, next), nil
}
