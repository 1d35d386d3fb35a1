package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/web/service"
)

func (a *API) dagPause() {
	register(a, huma.Operation{
		OperationID: "pause-dag", Method: http.MethodPost, Path: "/dags/{name}/pause", Tags: []string{"dags"},
		Summary: "Pause a DAG", Description: "The schedules of its roots stand still; a wave that is open goes on.",
	}, func(ctx context.Context, in *DAGPath) (*dagAnswer, error) {
		dag, err := a.service.PauseDAG(ctx, in.Namespace, in.Name, service.Actor(ctx))
		if err != nil {
			return nil, err
		}
		return a.answerDAG(ctx, dag, false)
	})
}

func (a *API) dagResume() {
	register(a, huma.Operation{
		OperationID: "resume-dag", Method: http.MethodPost, Path: "/dags/{name}/resume", Tags: []string{"dags"},
		Summary: "Resume a DAG", Description: "The schedules of its roots go on; slots of the pause are dealt with as its catch-up policy says.",
	}, func(ctx context.Context, in *DAGPath) (*dagAnswer, error) {
		dag, err := a.service.ResumeDAG(ctx, in.Namespace, in.Name, service.Actor(ctx))
		if err != nil {
			return nil, err
		}
		return a.answerDAG(ctx, dag, false)
	})
}
