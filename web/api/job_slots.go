package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) jobSlots() {
	register(a, huma.Operation{
		OperationID: "list-slots", Method: http.MethodGet, Path: "/jobs/{name}/slots", Tags: []string{"jobs"},
		Summary:     "What became of a job's slots",
		Description: "The ledger, newest first: every slot is exactly one of fired, skipped and missed. A slot that was caught up or backfilled stands where its run was made.",
	}, func(ctx context.Context, in *struct {
		JobPath
		Page
		Since string `query:"since" doc:"A time, or how long ago: 24h" example:"24h"`
	}) (*pageAnswer[wire.LedgerEntry], error) {
		since, err := a.instant("since", in.Since)
		if err != nil {
			return nil, err
		}
		entries, next, err := a.service.LedgerPage(ctx, in.Namespace, in.Name, since, time.Time{}, in.Cursor, in.Limit)
		if err != nil {
			return nil, err
		}
		return answerPage(viewLedger(entries), next), nil
	})
}

func viewLedger(entries []service.LedgerEntry) []wire.LedgerEntry {
	var items []wire.LedgerEntry
	for _, e := range entries {
		items = append(items, wire.LedgerEntry{From: e.From, To: e.To, Count: e.Count, Outcome: e.Outcome, Reason: e.Reason, Run: e.Run, Status: e.Status.String()})
	}
	return items
}
