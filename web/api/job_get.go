package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// JobPath is the part of a request that names a job.
type JobPath struct {
	InNamespace
	Name string `path:"name" doc:"The job's name" example:"nightly-report"`
}

func (a *API) jobGet() {
	register(a, huma.Operation{
		OperationID: "get-job", Method: http.MethodGet, Path: "/jobs/{name}", Tags: []string{"jobs"},
		Summary: "Get a job",
	}, func(ctx context.Context, in *struct {
		JobPath
		IfNoneMatch string `header:"If-None-Match" doc:"An ETag: 304 if the job still has it"`
	}) (*jobAnswer, error) {
		job, err := a.service.Job(ctx, in.Namespace, in.Name)
		if err != nil {
			return nil, err
		}
		if tag := tagOf(job.Revision); in.IfNoneMatch != "" && strings.Contains(in.IfNoneMatch, tag) {
			return nil, huma.ErrorWithHeaders(huma.Status304NotModified(), http.Header{"ETag": {tag}})
		}
		return a.answerJob(ctx, job, false)
	})
}
