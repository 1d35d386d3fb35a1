package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

type ledgerCheckAnswer struct{ Body wire.LedgerCheck }

func (a *API) ledgerCheck() {
	register(a, huma.Operation{
		OperationID: "get-ledger-check", Method: http.MethodGet, Path: "/ledger-check", Tags: []string{"cluster"},
		Summary: "Whether every slot is accounted for",
		Description: "The server compares the slots that schedules name, since each job and DAG was made, with what became of them, slowly and in the background. " +
			"A slot that is neither a run nor in the ledger, is both, is one of them twice, or is named by no schedule, is a fault of Tidewheel.",
	}, func(context.Context, *struct{}) (*ledgerCheckAnswer, error) {
		state := a.service.LedgerState()
		return &ledgerCheckAnswer{viewLedgerState(&state)}, nil
	})
	register(a, huma.Operation{
		OperationID: "check-ledger", Method: http.MethodPost, Path: "/ledger-check", Tags: []string{"cluster"}, DefaultStatus: http.StatusOK,
		Summary: "Check the slot ledger now", Description: "Goes on from where the last pass ended, without pauses, and answers once it is through. A server that has just started looks at all that is kept.",
	}, func(ctx context.Context, _ *struct{}) (*ledgerCheckAnswer, error) {
		if err := a.service.CheckLedger(ctx); err != nil {
			return nil, err
		}
		state := a.service.LedgerState()
		return &ledgerCheckAnswer{viewLedgerState(&state)}, nil
	})
}

func viewLedgerState(s *service.LedgerState) wire.LedgerCheck {
	view := wire.LedgerCheck{Differences: s.Found, Items: []wire.LedgerDifference{}, Through: s.Through, At: s.At, Slots: s.Slots, Behind: s.Behind}
	for i := range s.Differences {
		d := &s.Differences[i]
		if d.Kind == service.DifferenceMissing {
			view.Missing++
		}
		view.Items = append(view.Items, wire.LedgerDifference{Namespace: d.Namespace, Owner: d.Owner, Slot: d.Slot, Kind: string(d.Kind), Words: d.Kind.Words()})
	}
	return view
}
