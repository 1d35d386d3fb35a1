package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) jobResume() {
	register(a, huma.Operation{
		OperationID: "resume-job", Method: http.MethodPost, Path: "/jobs/{name}/resume", Tags: []string{"jobs"},
		Summary: "Resume a job", Description: "Its schedule goes on; slots of the pause are dealt with as its catch-up policy says.",
	}, func(ctx context.Context, in *JobPath) (*jobAnswer, error) {
		job, err := a.service.ResumeJob(ctx, in.Namespace, in.Name, service.Actor(ctx))
		if err != nil {
			return nil, err
		}
		return a.answerJob(ctx, job, false)
	})
}
