package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/enrol"
	"github.com/tidewheel/tidewheel/web/service"
)

type credentialsAnswer struct{ Body wire.ExecutorCredentials }

func (a *API) enrolment() {
	register(a, huma.Operation{
		OperationID: "create-executor-token", Method: http.MethodPost, Path: "/executor-tokens", Tags: []string{"cluster"}, DefaultStatus: http.StatusCreated,
		Summary: "Create an enrolment token", Description: "It enrols one executor of a tier, once. The answer shows it, once: it is kept nowhere.",
	}, func(ctx context.Context, in *struct{ Body wire.NewExecutorToken }) (*struct{ Body wire.ExecutorToken }, error) {
		var ttl time.Duration
		if in.Body.TTL != "" {
			var err error
			if ttl, err = time.ParseDuration(in.Body.TTL); err != nil {
				return nil, &service.Error{Kind: service.KindInvalid, Code: "invalid_ttl", Detail: "ttl: write a duration such as 1h", Err: err}
			}
		}
		secret, token, err := a.service.CreateExecutorToken(ctx, in.Body.Tier, ttl)
		if err != nil {
			return nil, err
		}
		return &struct{ Body wire.ExecutorToken }{wire.ExecutorToken{Token: secret, Tier: token.Tier, ExpiresAt: token.ExpiresAt}}, nil
	})
	register(a, huma.Operation{
		OperationID: "enrol-executor", Method: http.MethodPost, Path: "/enrolled-executors", Tags: []string{"cluster"}, DefaultStatus: http.StatusCreated,
		Summary:     "Enrol an executor",
		Description: "For executors: it needs an enrolment token and no other credentials. The token is used up.",
	}, func(ctx context.Context, in *struct{ Body wire.ExecutorEnrolment }) (*credentialsAnswer, error) {
		given, err := a.service.EnrolExecutor(ctx, in.Body.Token, proofOf(&in.Body.Proof))
		return a.viewCredentials(&given), err
	})
	register(a, huma.Operation{
		OperationID: "renew-executor", Method: http.MethodPost, Path: "/enrolled-executors/{name}/renew", Tags: []string{"cluster"},
		Summary:     "Renew the credentials of an enrolled executor",
		Description: "For executors: the signature proves who asks. One that was revoked gets none.",
	}, func(ctx context.Context, in *struct {
		Name string `path:"name" maxLength:"64" doc:"The executor's name"`
		Body wire.ExecutorProof
	}) (*credentialsAnswer, error) {
		proof := proofOf(&in.Body)
		proof.Name = in.Name
		given, err := a.service.RenewExecutor(ctx, proof)
		return a.viewCredentials(&given), err
	})
	register(a, huma.Operation{
		OperationID: "list-enrolled-executors", Method: http.MethodGet, Path: "/enrolled-executors", Tags: []string{"cluster"},
		Summary: "List executors that are enrolled", Description: "They have credentials of their own, whether they are alive or not.",
	}, func(ctx context.Context, _ *struct{}) (*pageAnswer[wire.EnrolledExecutor], error) {
		executors, err := a.service.EnrolledExecutors(ctx)
		if err != nil {
			return nil, err
		}
		items := make([]wire.EnrolledExecutor, len(executors))
		for i, e := range executors {
			items[i] = wire.EnrolledExecutor(e)
		}
		return answerPage(items, ""), nil
	})
	register(a, huma.Operation{
		OperationID: "revoke-executor", Method: http.MethodDelete, Path: "/enrolled-executors/{name}", Tags: []string{"cluster"},
		Summary: "Revoke an executor",
		Description: "It gets no new credentials. An embedded NATS ends its connection within seconds; another NATS lets it continue until its " +
			"credentials expire.",
	}, func(ctx context.Context, in *struct {
		Name string `path:"name" maxLength:"64" doc:"The executor's name"`
	}) (*nothing, error) {
		return &nothing{}, a.service.RevokeExecutor(ctx, in.Name)
	})
}

func proofOf(given *wire.ExecutorProof) *enrol.Proof {
	proof := enrol.Proof(*given)
	return &proof
}

func (a *API) viewCredentials(given *enrol.Credentials) *credentialsAnswer {
	view := wire.ExecutorCredentials{
		Name: given.Executor.Name, Tier: given.Executor.Tier, JWT: given.JWT, ExpiresAt: given.ExpiresAt, TaskKeys: given.TaskKeys,
	}
	view.Embedded, view.NATSCA = a.service.CredentialsEmbedded()
	return &credentialsAnswer{view}
}
