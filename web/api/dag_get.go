package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// DAGPath is the part of a request that names a DAG.
type DAGPath struct {
	InNamespace
	Name string `path:"name" doc:"The DAG's name" example:"etl"`
}

func (a *API) dagGet() {
	register(a, huma.Operation{
		OperationID: "get-dag", Method: http.MethodGet, Path: "/dags/{name}", Tags: []string{"dags"},
		Summary: "Get a DAG",
	}, func(ctx context.Context, in *struct {
		DAGPath
		IfNoneMatch string `header:"If-None-Match" doc:"An ETag: 304 if the DAG still has it"`
	}) (*dagAnswer, error) {
		dag, err := a.service.DAG(ctx, in.Namespace, in.Name)
		if err != nil {
			return nil, err
		}
		if tag := tagOf(dag.Revision); in.IfNoneMatch != "" && strings.Contains(in.IfNoneMatch, tag) {
			return nil, huma.ErrorWithHeaders(huma.Status304NotModified(), http.Header{"ETag": {tag}})
		}
		return a.answerDAG(ctx, dag, false)
	})
}
