package api

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

func (a *API) deadLetterReplay() {
	register(a, huma.Operation{
		OperationID: "replay-dead-letter", Method: http.MethodPost, Path: "/dead-letters/{id}/replay", Tags: []string{"runs"}, DefaultStatus: http.StatusAccepted,
		Summary: "Try a dead run again", Description: "The same as a retry of the run; the dead letter goes once the attempt is made.",
	}, a.retry)
}
