package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/trigger"
	"github.com/tidewheel/tidewheel/web/service"
)

// HookPrefix is where requests to webhooks are sent.
const HookPrefix = Prefix + "/hooks/"

// HookRequest is a request to a webhook. Its headers are read as they are: which of them belong together is not a matter of each.
type HookRequest struct {
	Namespace string `path:"namespace" maxLength:"128" doc:"The namespace"`
	Name      string `path:"name" maxLength:"128" doc:"The job or DAG"`
	RawBody   []byte `doc:"JSON, the payload; nothing for none"`
	header    http.Header
}

// Resolve keeps the headers, for huma.
func (r *HookRequest) Resolve(ctx huma.Context) []error {
	r.header = http.Header{}
	ctx.EachHeader(func(name, value string) { r.header.Add(name, value) })
	return nil
}

type hookAnswer struct {
	Status   int
	Location string `header:"Location" doc:"Where the run or wave lies that was started"`
	Body     wire.HookAnswer
}

func (a *API) hook() {
	register(a, huma.Operation{
		OperationID: "call-webhook", Method: http.MethodPost, Path: "/hooks/{namespace}/{name}", Tags: []string{"triggers"}, DefaultStatus: http.StatusCreated,
		Security: []map[string][]string{{}}, MaxBodyBytes: service.MaxPayload + 1,
		Summary: "Start a job or DAG by its webhook",
		Description: "Needs no login: the request is signed with the secret that triggers.webhook of the definition names. Either as Standard Webhooks says " +
			"(webhook-id, webhook-timestamp, webhook-signature), or as GitHub does (X-Hub-Signature-256, and X-GitHub-Delivery as the id of the event). " +
			"The body is the payload, JSON of at most 1 MiB. 201 with what was started; 200 with the same when the id came before; 400 without the headers, " +
			"or with a timestamp that is more than 5 minutes away; 401 where there is no such webhook or the signature is not of its secret; 409 paused; " +
			"409 replayed for a body that GitHub's way has signed before under another id. A ping of GitHub is answered with 200 and starts nothing.",
	}, func(ctx context.Context, in *HookRequest) (*hookAnswer, error) {
		started, err := a.service.Hook(ctx, in.Namespace, in.Name, in.header, in.RawBody)
		var header *trigger.HeaderError
		switch {
		case errors.Is(err, service.ErrNoHook):
			return nil, NewProblem(http.StatusUnauthorized, "bad_signature", err.Error())
		case errors.As(err, &header):
			return nil, NewProblem(http.StatusBadRequest, "bad_headers", header.Reason)
		case err != nil:
			return nil, err
		}
		answer := &hookAnswer{Status: statusOf(!started.Existed && started.ID != "")}
		path := "/runs/"
		if started.DAG {
			answer.Body.Wave, path = started.ID, "/waves/"
		} else {
			answer.Body.Run = started.ID
		}
		if answer.Status == http.StatusCreated {
			answer.Location = Prefix + path + started.ID
		}
		return answer, nil
	})
}
