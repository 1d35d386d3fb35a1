package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) jobReplace() {
	register(a, huma.Operation{
		OperationID: "put-job", Method: http.MethodPut, Path: "/jobs/{name}", Tags: []string{"jobs"},
		Summary:     "Create or replace a job",
		Description: "201 when it is created, 200 otherwise. A definition that means the same as before changes nothing.",
	}, func(ctx context.Context, in *struct {
		JobPath
		Content
		IfMatch     string `header:"If-Match" doc:"The ETag that was read: 412 if the job was changed since"`
		IfNoneMatch string `header:"If-None-Match" doc:"*: 409 if there is a job of this name"`
		Message     string `query:"message" maxLength:"500" doc:"Why, for the history of generations"`
	}) (*jobAnswer, error) {
		revision, err := ifMatch(in.IfMatch)
		if err != nil {
			return nil, err
		}
		document, err := in.definition(in.Name)
		if err != nil {
			return nil, err
		}
		job, change, err := a.service.SaveJob(ctx, in.Namespace, document.Job, service.Save{
			By: service.Actor(ctx), Message: in.Message, Source: document.Source, IfRevision: revision, Create: in.IfNoneMatch == "*",
		})
		if err != nil {
			return nil, precondition(err, revision)
		}
		return a.answerJob(ctx, job, change == service.Created)
	})
	a.takes(http.MethodPut, "/jobs/{name}", "The definition; its name may be left out", definitionContent())
}

// precondition tells a conflict as a failed If-Match, where one was given.
func precondition(err error, revision int64) error {
	var known *service.Error
	if revision == 0 || !errors.As(err, &known) || known.Kind != service.KindConflict {
		return err
	}
	return NewProblem(http.StatusPreconditionFailed, known.Code, known.Detail)
}
