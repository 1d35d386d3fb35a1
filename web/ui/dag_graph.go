package ui

import (
	"fmt"
	"strings"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
	"github.com/tidewheel/tidewheel/templates"
)

// drawnAtMost is how many tasks and needs a page sends for a picture: its first visit stays light.
const drawnAtMost = 12_000

// definitionGraph is what a DAG is made of, without any wave.
func definitionGraph(d *engine.DAG) (templates.Graph, error) {
	graph, err := d.Spec.Graph()
	if err != nil {
		return templates.Graph{}, fmt.Errorf("draw DAG %s: %w", d.Name, err)
	}
	return graphOf(d.Name, "/dags/"+d.Name+"/grid?q=", &d.Spec, graph), nil
}

// graphOf lists tasks and what they need in the order of the definition, as the editor draws them.
func graphOf(name, path string, definition *spec.DAG, graph *dag.Graph) templates.Graph {
	view := templates.Graph{Key: name, Path: path, Schedule: definition.Schedule, Tasks: make([]templates.GraphTask, graph.Len())}
	size := graph.Len()
	for i := range definition.Tasks {
		size += len(definition.Tasks[i].Needs)
	}
	if size > drawnAtMost {
		view.Large = fmt.Sprintf("A DAG of %d tasks with %d needs is too large for a picture. The table lists its tasks.", graph.Len(), size-graph.Len())
	}
	for i := range definition.Tasks {
		task := &definition.Tasks[i]
		drawn := templates.GraphTask{
			Name: task.Name, Binary: task.Binary, Schedule: task.Schedule, Trigger: string(task.Trigger), ForEach: task.ForEach, When: task.When,
		}
		if drawn.Binary == "" {
			drawn.Binary = definition.Defaults.Binary
		}
		for _, need := range task.Needs {
			if at, known := graph.Index(need); known {
				drawn.Needs = append(drawn.Needs, at)
			}
		}
		view.Tasks[i] = drawn
	}
	return view
}

func someNames(names []string) string {
	const shown = 5
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}
