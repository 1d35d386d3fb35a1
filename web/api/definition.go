package api

import (
	"context"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/web/service"
)

// DefinitionPath is the part of a request that names a job or a DAG.
type DefinitionPath struct {
	InNamespace
	Name string `path:"name" doc:"The name of the definition" example:"nightly-report"`
}

// definitionRoutes are the operations that jobs and DAGs have alike: V is a definition as clients see it, G one of its
// generations.
type definitionRoutes[S engine.Spec, V, G any] struct {
	*API
	service *service.Definitions[S]

	path string // "/jobs"; without the slash it is their tag
	noun string // "job"
	id   string // "job", in the ids of operations
	list string // "generations", in the ids of operations on these
	kind string // spec.KindJob
	// What the description says of a pause, a deletion and a replacement beyond what both kinds have in common.
	pauseWords, deleteWords, replaceWords string

	view       func(definition *engine.Definition[S], next time.Time) V
	generation func(*engine.GenerationOf[S]) G
	decode     func(name string, data []byte) (spec.Document, spec.Problems) // of JSON
	of         func(spec.Document) *S                                        // nil for one of the other kind
	schema     string                                                        // of the definition
	example    func() any
}

func (a *API) jobRoutes() *definitionRoutes[spec.Job, wire.Job, wire.Generation] {
	return &definitionRoutes[spec.Job, wire.Job, wire.Generation]{
		API: a, service: a.service.Jobs, path: "/jobs", noun: "job", id: "job", list: "generations", kind: spec.KindJob,
		pauseWords:  "No slot fires until it is resumed; running runs continue.",
		deleteWords: "Its schedule ends, running runs finish, and its history is kept.",
		view:        viewJob,
		generation: func(g *engine.Generation) wire.Generation {
			return wire.Generation{GenerationHead: wire.GenerationHead{Generation: g.Generation, At: g.At, By: g.By, Message: g.Message}, Spec: g.Spec}
		},
		decode: func(name string, data []byte) (spec.Document, spec.Problems) {
			definition, problems := spec.DecodeJob(name, data)
			return spec.Document{Job: definition}, problems
		},
		of:     func(document spec.Document) *spec.Job { return document.Job },
		schema: definitionName, example: exampleDefinition,
	}
}

func (a *API) dagRoutes() *definitionRoutes[spec.DAG, wire.DAG, wire.DAGGeneration] {
	return &definitionRoutes[spec.DAG, wire.DAG, wire.DAGGeneration]{
		API: a, service: a.service.DAGs, path: "/dags", noun: "DAG", id: "dag", list: "dag-generations", kind: spec.KindDAG,
		pauseWords:   "No slot opens a wave until it is resumed; an open wave continues.",
		deleteWords:  "What is planned goes with it, an open wave is cancelled, and its history stays.",
		replaceWords: " An open wave ends on the generation that it began with.",
		view:         viewDAG,
		generation: func(g *engine.DAGGeneration) wire.DAGGeneration {
			return wire.DAGGeneration{GenerationHead: wire.GenerationHead{Generation: g.Generation, At: g.At, By: g.By, Message: g.Message}, Spec: g.Spec}
		},
		decode: func(name string, data []byte) (spec.Document, spec.Problems) {
			definition, problems := spec.DecodeDAG(name, data)
			return spec.Document{DAG: definition}, problems
		},
		of:     func(document spec.Document) *spec.DAG { return document.DAG },
		schema: dagDefinitionName, example: exampleDAG,
	}
}

// register adds the operations.
func (r *definitionRoutes[S, V, G]) register() {
	r.get()
	r.create()
	r.replace()
	r.delete()
	r.pause()
	r.resume()
	r.label()
	r.generations()
	r.difference()
	r.restore()
}

// operation is one on the definitions; path is what follows their address.
func (r *definitionRoutes[S, V, G]) operation(id, method, path, summary, description string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: r.path + path, Tags: []string{r.path[1:]}, Summary: summary, Description: description,
	}
}

// definitionAnswer is one definition with its entity tag.
type definitionAnswer[V any] struct {
	Status   int
	ETag     string `header:"ETag" doc:"The revision: give it as If-Match to change what you have read, and nothing newer"`
	Location string `header:"Location" doc:"Where a definition lies that was created"`
	Body     V
}

func (r *definitionRoutes[S, V, G]) answer(ctx context.Context, definition engine.Definition[S], created bool) (*definitionAnswer[V], error) {
	next, err := r.service.NextSlots(ctx, definition)
	if err != nil {
		return nil, err
	}
	answer := &definitionAnswer[V]{Status: statusOf(created), ETag: tagOf(definition.Revision), Body: r.view(&definition, next[definition.UID])}
	if created {
		answer.Location = Prefix + r.path + "/" + definition.Name
	}
	if created && definition.Namespace != engine.DefaultNamespace {
		answer.Location += "?namespace=" + definition.Namespace
	}
	return answer, nil
}

func tagOf(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

func viewJob(job *engine.Job, next time.Time) wire.Job {
	return wire.Job{Definition: viewDefinition(job, inWords(job), next), Spec: job.Spec, Source: job.Source}
}

func viewDAG(dag *engine.DAG, next time.Time) wire.DAG {
	return wire.DAG{Definition: viewDefinition(dag, dag.Spec.Summary(), next), Spec: dag.Spec, Source: dag.Source}
}

func viewDefinition[S engine.Spec](d *engine.Definition[S], schedule string, next time.Time) wire.Definition {
	return wire.Definition{
		UID: d.UID, Namespace: d.Namespace, Name: d.Name, Generation: d.Generation, Revision: d.Revision,
		Paused: d.Paused, PausedAt: d.PausedAt, PausedBy: d.PausedBy, PausedReason: d.PausedReason, Pending: d.Pending,
		Schedule: schedule, NextSlot: next,
		CreatedAt: d.CreatedAt, CreatedBy: d.CreatedBy, UpdatedAt: d.UpdatedAt, UpdatedBy: d.UpdatedBy, Message: d.Message,
	}
}

// inWords describes a schedule. One that does not compile any more, since zones and rules change, is still shown.
func inWords(job *engine.Job) string {
	schedule, err := cron.Compile(job.Spec.Definition(job.Key(), job.CreatedAt))
	if err != nil {
		return "this schedule is not understood any more: " + err.Error()
	}
	return schedule.Describe()
}
