package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/dag"
)

func (a *API) dagGraph() {
	register(a, huma.Operation{
		OperationID: "get-dag-graph", Method: http.MethodGet, Path: "/dags/{name}/graph", Tags: []string{"dags"},
		Summary: "A DAG as a graph", Description: "Its tasks by levels, and the edges between them; those that follow from others are marked.",
	}, func(ctx context.Context, in *struct {
		DefinitionPath
		Generation int64 `query:"generation" minimum:"1" doc:"An earlier form; the present one if absent"`
	}) (*struct{ Body wire.DAGGraph }, error) {
		present, err := a.service.DAGs.Get(ctx, in.Namespace, in.Name)
		if err != nil {
			return nil, err
		}
		definition := present.Spec
		if in.Generation > 0 {
			form, err := a.service.DAGs.Generation(ctx, in.Namespace, in.Name, in.Generation)
			if err != nil {
				return nil, err
			}
			definition = form.Spec
		}
		graph, err := definition.Graph()
		if err != nil {
			return nil, err
		}
		answer := &struct{ Body wire.DAGGraph }{wire.DAGGraph{Edges: []wire.DAGEdge{}}}
		levels, reduced := graph.Levels(), graph.Reduced()
		for i := range definition.Tasks {
			t := &definition.Tasks[i]
			node := wire.DAGNode{Name: t.Name, Level: levels[i], Binary: definition.TaskJob(i).Binary, Mapped: t.ForEach != ""}
			if !t.Root() {
				node.Trigger = string(triggerOf(t.Trigger))
			}
			answer.Body.Tasks = append(answer.Body.Tasks, node)
			for need := range graph.Needs(i) {
				answer.Body.Edges = append(answer.Body.Edges, wire.DAGEdge{From: graph.Name(need), To: t.Name, Implied: !slices.Contains(reduced[i], need)})
			}
		}
		return answer, nil
	})
}

func triggerOf(rule dag.Trigger) dag.Trigger {
	if rule == "" {
		return dag.AllSuccess
	}
	return rule
}
