package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
)

type binaryDiffRequest struct {
	BinaryPath
	A int `query:"a" required:"true" minimum:"1" doc:"The version to compare with" example:"1"`
	B int `query:"b" required:"true" minimum:"1" doc:"The version in question" example:"2"`
}

type binaryDiffAnswer struct{ Body wire.BinaryDiff }

func (a *API) binaryDiff() {
	register(a, huma.Operation{
		OperationID: "compare-binary-versions", Method: http.MethodGet, Path: "/binaries/{name}/diff", Tags: []string{"binaries"},
		Summary:     "Compare two versions of a binary",
		Description: "What differs in their facts and in which jobs run them and, of scripts, in the first 5,000 lines of each.",
	}, func(ctx context.Context, in *binaryDiffRequest) (*binaryDiffAnswer, error) {
		diff, err := a.service.CompareVersions(ctx, in.Namespace, in.Name, in.A, in.B)
		if err != nil {
			return nil, err
		}
		return &binaryDiffAnswer{Body: wire.BinaryDiff{
			Name: diff.Binary.Name, A: viewVersion(diff.A), B: viewVersion(diff.B), Fields: viewFields(diff.Fields), Source: viewLineDiff(&diff.Source),
		}}, nil
	})
}
