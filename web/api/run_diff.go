package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/web/service"
)

type runDiffRequest struct {
	InNamespace
	A     string `query:"a" required:"true" doc:"The run to compare with; last-good is the latest run of the same job before b that succeeded" example:"last-good"`
	B     string `query:"b" required:"true" doc:"The run in question"`
	Exact bool   `query:"exact" doc:"Treat lines of output that differ only in numbers, times or hashes as different"`
}

type runDiffAnswer struct{ Body wire.RunDiff }

func (a *API) runDiff() {
	register(a, huma.Operation{
		OperationID: "compare-runs", Method: http.MethodGet, Path: "/runs/diff", Tags: []string{"runs"},
		Summary: "Compare two runs", Description: "What differs in what they executed, how they ended and, of the last 2,000 lines of each, in what they printed. Values that look like secrets are hidden.",
	}, func(ctx context.Context, in *runDiffRequest) (*runDiffAnswer, error) {
		diff, err := a.service.CompareRuns(ctx, in.Namespace, in.A, in.B, in.Exact)
		if err != nil {
			return nil, err
		}
		body := wire.RunDiff{A: diff.A.ID, B: diff.B.ID, Fields: viewFields(diff.Fields), Output: viewLineDiff(&diff.Output)}
		return &runDiffAnswer{Body: body}, nil
	})
}

// viewFields are those that differ.
func viewFields(fields []service.FieldDiff) []wire.FieldDiff {
	views := []wire.FieldDiff{}
	for _, field := range fields {
		if field.Differs {
			views = append(views, wire.FieldDiff{Field: field.Name, A: field.A, B: field.B})
		}
	}
	return views
}

func viewLineDiff(diff *service.LineDiff) wire.LineDiff {
	view := wire.LineDiff{Rows: []wire.DiffRow{}, Removed: diff.Removed, Added: diff.Added, SkippedA: diff.SkippedA, SkippedB: diff.SkippedB, Missing: diff.Missing}
	for i := range diff.Rows {
		row := &diff.Rows[i]
		view.Rows = append(view.Rows, wire.DiffRow{
			Kind: string(row.Kind), LineA: row.LineA, LineB: row.LineB, Gap: row.Gap,
			A: strings.ToValidUTF8(string(row.TextA), "\ufffd"), B: strings.ToValidUTF8(string(row.TextB), "\ufffd"),
		})
	}
	return view
}
