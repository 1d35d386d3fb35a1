package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

// NamespacePath names a namespace.
type NamespacePath struct {
	Name string `path:"name" maxLength:"128" doc:"The namespace's name" example:"finance"`
}

type namespaceAnswer struct {
	Status int
	Body   wire.Namespace
}

func (a *API) namespaces() {
	register(a, huma.Operation{
		OperationID: "list-namespaces", Method: http.MethodGet, Path: "/namespaces", Tags: []string{"namespaces"},
		Summary: "List namespaces", Description: "By name: all in which the sender of the request has a role.",
	}, func(ctx context.Context, _ *struct{}) (*pageAnswer[wire.Namespace], error) {
		namespaces, err := a.service.Namespaces(ctx)
		if err != nil {
			return nil, err
		}
		var items []wire.Namespace
		for i := range namespaces {
			one, err := a.viewNamespace(ctx, &namespaces[i])
			if err != nil {
				return nil, err
			}
			items = append(items, one)
		}
		return answerPage(items, ""), nil
	})
	register(a, huma.Operation{
		OperationID: "get-namespace", Method: http.MethodGet, Path: "/namespaces/{name}", Tags: []string{"namespaces"},
		Summary: "Show a namespace",
	}, func(ctx context.Context, in *NamespacePath) (*namespaceAnswer, error) {
		return a.answerNamespace(ctx, http.StatusOK)(a.service.Namespace(ctx, in.Name))
	})
	register(a, huma.Operation{
		OperationID: "create-namespace", Method: http.MethodPost, Path: "/namespaces", Tags: []string{"namespaces"}, DefaultStatus: http.StatusCreated,
		Summary: "Create a namespace",
	}, func(ctx context.Context, in *struct {
		Keyed
		Body wire.NewNamespace
	}) (*namespaceAnswer, error) {
		request := service.Request{Namespace: engine.DefaultNamespace, Operation: "create-namespace", Key: in.Key, Asked: in.Body}
		made, err := once(ctx, a.service, request, func() (access.Namespace, error) {
			return a.service.Namespace(ctx, in.Body.Name)
		}, func() (access.Namespace, error) {
			return a.service.CreateNamespace(ctx, in.Body.Name, in.Body.Description)
		})
		return a.answerNamespace(ctx, http.StatusCreated)(made, err)
	})
	register(a, huma.Operation{
		OperationID: "set-namespace", Method: http.MethodPut, Path: "/namespaces/{name}", Tags: []string{"namespaces"},
		Summary: "Change a namespace", Description: "What is left out stays. The quota is for an admin of all namespaces to change (403 otherwise).",
	}, func(ctx context.Context, in *struct {
		NamespacePath
		Body wire.NamespaceSettings
	}) (*namespaceAnswer, error) {
		change := service.NamespaceChange{
			Description: in.Body.Description, Quota: func(q *access.Quota) { setQuota(q, &in.Body.Quota) },
			Age: in.Body.Retention.Age, Runs: in.Body.Retention.Runs, Output: in.Body.Retention.Output,
		}
		return a.answerNamespace(ctx, http.StatusOK)(a.service.ChangeNamespace(ctx, in.Name, change))
	})
	register(a, huma.Operation{
		OperationID: "delete-namespace", Method: http.MethodDelete, Path: "/namespaces/{name}", Tags: []string{"namespaces"},
		Summary: "Delete a namespace", Description: "One that still owns a job, a DAG, a binary or a secret is refused (409).",
	}, func(ctx context.Context, in *NamespacePath) (*nothing, error) {
		return &nothing{}, a.service.DeleteNamespace(ctx, in.Name)
	})
}

func (a *API) answerNamespace(ctx context.Context, status int) func(access.Namespace, error) (*namespaceAnswer, error) {
	return func(namespace access.Namespace, err error) (*namespaceAnswer, error) {
		if err != nil {
			return nil, err
		}
		view, err := a.viewNamespace(ctx, &namespace)
		return &namespaceAnswer{status, view}, err
	}
}

func (a *API) viewNamespace(ctx context.Context, n *access.Namespace) (wire.Namespace, error) {
	usage, err := a.service.UsageOf(ctx, n.Name)
	used := wire.NamespaceUsage{Jobs: usage.Jobs, StoredBytes: usage.StoredBytes}
	if usage.Runs != nil {
		queued, running := int64(usage.Runs.Waiting), int64(usage.Runs.Running)
		used.Queued, used.Running = &queued, &running
	}
	return wire.Namespace{
		Name: n.Name, Description: n.Description, Role: access.From(ctx).Grants.In(n.Name).String(), CreatedAt: n.CreatedAt, CreatedBy: n.CreatedBy,
		Quota:     wire.Quota(n.Quota),
		Retention: viewRetention(n.Retention),
		Usage:     used,
	}, err
}

func viewRetention(keep spec.Retention) wire.Retention {
	view := wire.Retention{Runs: keep.Runs}
	if keep.Age > 0 {
		view.Age = keep.Age.String()
	}
	if keep.Output > 0 {
		view.Output = keep.Output.String()
	}
	return view
}

func setQuota(quota *access.Quota, settings *wire.QuotaSettings) {
	for bound, wanted := range map[*int64]*int64{
		&quota.Jobs: settings.Jobs, &quota.Queued: settings.Queued, &quota.Running: settings.Running, &quota.StoredBytes: settings.StoredBytes,
		&quota.SubmitsPerSecond: settings.SubmitsPerSecond,
	} {
		if wanted != nil {
			*bound = *wanted
		}
	}
}
