package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/audit"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

func (a *API) auditList() {
	register(a, huma.Operation{
		OperationID: "list-audit", Method: http.MethodGet, Path: "/audit", Tags: []string{"audit"},
		Summary: "List who changed what", Description: "The newest first: for an administrator of all namespaces, for other admins of the namespace. A page may be short where what matches is rare: follow next.",
	}, func(ctx context.Context, in *struct {
		Page
		By      string `query:"by" doc:"A user, with all of their tokens; or user/token" example:"ada"`
		In      string `query:"in" doc:"Only changes in this namespace" example:"finance"`
		Outcome string `query:"outcome" enum:"done,refused,failed"`
		Text    string `query:"q" maxLength:"200" doc:"In the action, the target or the changes; case is ignored"`
		Since   string `query:"since" doc:"At or after this time, or since so long ago: 24h" example:"24h"`
		Until   string `query:"until" doc:"Before this time, or so long ago"`
	}) (*pageAnswer[wire.AuditEntry], error) {
		filter := audit.Filter{By: in.By, Outcome: audit.Outcome(in.Outcome), Text: in.Text, Limit: in.Limit}
		if in.In != "" {
			filter.Namespaces = []string{in.In}
		}
		var err error
		if filter.Since, err = a.instant("since", in.Since); err != nil {
			return nil, err
		}
		if filter.Until, err = a.instant("until", in.Until); err != nil {
			return nil, err
		}
		if in.Cursor != "" {
			if filter.Below, err = strconv.ParseInt(in.Cursor, 10, 64); err != nil || filter.Below < 1 {
				return nil, engine.ErrCursor
			}
		}
		entries, below, err := a.service.AuditEntries(ctx, filter)
		if err != nil {
			return nil, err
		}
		next := ""
		if below > 0 {
			next = strconv.FormatInt(below, 10)
		}
		items := make([]wire.AuditEntry, len(entries))
		for i := range entries {
			items[i] = viewAuditEntry(&entries[i])
		}
		return answerPage(items, next), nil
	})
}

func viewAuditEntry(e *audit.Entry) wire.AuditEntry {
	view := wire.AuditEntry{
		Number: e.Number, At: e.At, By: e.By, Remote: e.Remote, RequestID: e.RequestID, Agent: e.Agent, Namespace: e.Namespace,
		Action: e.Action, Target: e.Target, Outcome: string(e.Outcome), Status: e.Status,
		Previous: e.Previous, Hash: e.Hash,
	}
	for _, change := range e.Changes {
		view.Changes = append(view.Changes, wire.AuditChange(change))
	}
	return view
}

func (a *API) auditVerify() {
	register(a, huma.Operation{
		OperationID: "verify-audit", Method: http.MethodGet, Path: "/audit/verify", Tags: []string{"audit"},
		Summary:     "Check that the audit log is what was written",
		Description: "Reads all of it. That the newest entries were removed shows only to those who kept a hash elsewhere and give it here.",
	}, func(ctx context.Context, in *struct {
		Hash string `query:"hash" pattern:"^([0-9a-f]{64})?$" doc:"Of an entry, as an earlier check gave it"`
	}) (*struct{ Body wire.AuditCheck }, error) {
		last, err := a.service.Audit.Verify(ctx, in.Hash)
		check := wire.AuditCheck{Whole: err == nil, Entries: last.Number, Hash: last.Hash}
		if broken, is := errors.AsType[*audit.BrokenError](err); is {
			check.Problem, check.Hash = broken.Error(), ""
		} else if err != nil {
			return nil, err
		}
		return &struct{ Body wire.AuditCheck }{check}, nil
	})
}
