package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/secret"
	"github.com/tidewheel/tidewheel/web/service"
)

// SecretPath names a secret.
type SecretPath struct {
	InNamespace
	Name string `path:"name" maxLength:"128" doc:"The secret's name"`
}

type secretAnswer struct {
	Status int
	Body   wire.Secret
}

func (a *API) secrets() {
	register(a, huma.Operation{
		OperationID: "list-secrets", Method: http.MethodGet, Path: "/secrets", Tags: []string{"secrets"},
		Summary: "List secrets", Description: "By name, without their values.",
	}, func(ctx context.Context, in *struct {
		InNamespace
		Page
	}) (*pageAnswer[wire.Secret], error) {
		secrets, next, err := a.service.Secrets(ctx, in.Namespace, in.Cursor, in.Limit)
		if err != nil {
			return nil, err
		}
		var items []wire.Secret
		for i := range secrets {
			items = append(items, viewSecret(&secrets[i]))
		}
		return answerPage(items, next), nil
	})
	register(a, huma.Operation{
		OperationID: "get-secret", Method: http.MethodGet, Path: "/secrets/{name}", Tags: []string{"secrets"},
		Summary: "Show a secret", Description: "Who set it and when. Its value is never answered.",
	}, func(ctx context.Context, in *SecretPath) (*secretAnswer, error) {
		found, err := a.service.Secret(ctx, in.Namespace, in.Name)
		if err != nil {
			return nil, err
		}
		return &secretAnswer{http.StatusOK, viewSecret(&found)}, nil
	})
	register(a, huma.Operation{
		OperationID: "set-secret", Method: http.MethodPut, Path: "/secrets/{name}", Tags: []string{"secrets"},
		Summary: "Set a secret", Description: "Runs that are queued from now on are given this value.",
	}, func(ctx context.Context, in *struct {
		SecretPath
		Body wire.SecretValue
	}) (*secretAnswer, error) {
		set, created, err := a.service.SetSecret(ctx, in.Namespace, in.Name, []byte(in.Body.Value), service.Actor(ctx))
		if err != nil {
			return nil, err
		}
		return &secretAnswer{statusOf(created), viewSecret(&set)}, nil
	})
	register(a, huma.Operation{
		OperationID: "delete-secret", Method: http.MethodDelete, Path: "/secrets/{name}", Tags: []string{"secrets"},
		Summary: "Delete a secret", Description: "One that definitions refer to is refused (409), unless force is given: their runs fail then.",
	}, func(ctx context.Context, in *struct {
		SecretPath
		Force bool `query:"force" doc:"Delete it although it is used"`
	}) (*nothing, error) {
		return &nothing{}, a.service.DeleteSecret(ctx, in.Namespace, in.Name, service.Actor(ctx), in.Force)
	})
	register(a, huma.Operation{
		OperationID: "rotate-secrets-key", Method: http.MethodPost, Path: "/secrets-key/rotate", Tags: []string{"secrets"},
		Summary: "Rotate the key of secrets", Description: "A server with a key of its own creates another one, and reseals the secrets of all namespaces.",
	}, func(ctx context.Context, _ *struct{}) (*struct{ Body wire.SecretsKey }, error) {
		recipient, resealed, err := a.service.RotateSecretsKey(ctx)
		if err != nil {
			return nil, err
		}
		return &struct{ Body wire.SecretsKey }{wire.SecretsKey{Recipient: recipient, Resealed: resealed}}, nil
	})
}

func viewSecret(s *secret.Secret) wire.Secret {
	return wire.Secret{
		Namespace: s.Namespace, Name: s.Name, Version: s.Version,
		CreatedAt: s.CreatedAt, CreatedBy: s.CreatedBy, UpdatedAt: s.UpdatedAt, UpdatedBy: s.UpdatedBy,
	}
}
