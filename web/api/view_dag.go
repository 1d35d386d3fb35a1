package api

import (
	"context"
	"time"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

func viewDAG(dag *engine.DAG, next time.Time) wire.DAG {
	return wire.DAG{
		UID: dag.UID, Namespace: dag.Namespace, Name: dag.Name, Generation: dag.Generation, Revision: dag.Revision,
		Paused: dag.Paused, PausedAt: dag.PausedAt, PausedBy: dag.PausedBy, Pending: dag.Pending,
		Schedule: dag.Spec.Summary(), NextSlot: next,
		CreatedAt: dag.CreatedAt, CreatedBy: dag.CreatedBy, UpdatedAt: dag.UpdatedAt, UpdatedBy: dag.UpdatedBy,
		Message: dag.Message, Spec: dag.Spec, Source: dag.Source,
	}
}

// dagAnswer is one DAG with its entity tag.
type dagAnswer struct {
	Status   int
	ETag     string `header:"ETag" doc:"The revision: give it as If-Match to change what you have read, and nothing newer"`
	Location string `header:"Location" doc:"Where a DAG lies that was created"`
	Body     wire.DAG
}

func (a *API) answerDAG(ctx context.Context, dag engine.DAG, created bool) (*dagAnswer, error) {
	next, err := a.service.NextWavesOf(ctx, dag)
	if err != nil {
		return nil, err
	}
	answer := &dagAnswer{Status: statusOf(created), ETag: tagOf(dag.Revision), Body: viewDAG(&dag, next[dag.UID])}
	if created {
		answer.Location = Prefix + "/dags/" + dag.Name
	}
	if created && dag.Namespace != engine.DefaultNamespace {
		answer.Location += "?namespace=" + dag.Namespace
	}
	return answer, nil
}
