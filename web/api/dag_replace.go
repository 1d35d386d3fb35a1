package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) dagReplace() {
	register(a, huma.Operation{
		OperationID: "put-dag", Method: http.MethodPut, Path: "/dags/{name}", Tags: []string{"dags"},
		Summary:     "Create or replace a DAG",
		Description: "201 when it is created, 200 otherwise. A definition that means the same as before changes nothing. A wave that is open ends on the generation that it began with.",
	}, func(ctx context.Context, in *struct {
		DAGPath
		Content
		IfMatch     string `header:"If-Match" doc:"The ETag that was read: 412 if the DAG was changed since"`
		IfNoneMatch string `header:"If-None-Match" doc:"*: 409 if there is a DAG of this name"`
		Message     string `query:"message" maxLength:"500" doc:"Why, for the history of generations"`
	}) (*dagAnswer, error) {
		revision, err := ifMatch(in.IfMatch)
		if err != nil {
			return nil, err
		}
		document, err := in.dagDefinition(in.Name)
		if err != nil {
			return nil, err
		}
		dag, change, err := a.service.SaveDAG(ctx, in.Namespace, document.DAG, service.Save{
			By: service.Actor(ctx), Message: in.Message, Source: document.Source, IfRevision: revision, Create: in.IfNoneMatch == "*",
		})
		if err != nil {
			return nil, precondition(err, revision)
		}
		return a.answerDAG(ctx, dag, change == service.Created)
	})
	a.takes(http.MethodPut, "/dags/{name}", "The definition; its name may be left out", dagContent())
}
