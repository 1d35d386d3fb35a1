package ui

import (
	"fmt"
	"strings"
	"sync"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
)

// labelRoom is how many letters of a name fit into a node.
const labelRoom = 21

// pictures keeps the layouts of graphs that were drawn last: a definition's generation never changes. It is safe for
// concurrent use; the zero value is ready.
type pictures struct {
	mu   sync.Mutex
	kept map[string]*picture
	keys []string // the oldest first
}

const picturesKept = 64

// of returns the layout of a generation, which is drawn where it is not known. Callers do not change it.
func (p *pictures) of(uid string, generation int64, graph *dag.Graph) *picture {
	key := fmt.Sprintf("%s-%d-%d", uid, generation, graph.Len())
	p.mu.Lock()
	known := p.kept[key]
	p.mu.Unlock()
	if known != nil {
		return known
	}
	drawn := draw(graph)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.kept = map[string]*picture{}
	}
	if p.kept[key] == nil {
		p.keys = append(p.keys, key)
	}
	p.kept[key] = drawn
	if len(p.keys) > picturesKept {
		delete(p.kept, p.keys[0])
		p.keys = p.keys[1:]
	}
	return drawn
}

// structure draws what a DAG is made of, without any wave.
func (u *UI) structure(d *engine.DAG) (templates.Graph, error) {
	graph, err := d.Spec.Graph()
	if err != nil {
		return templates.Graph{}, fmt.Errorf("draw DAG %s: %w", d.Name, err)
	}
	p := u.pictures.of(d.UID, d.Generation, graph)
	view := p.view(graph)
	for i := range p.folds {
		fold, node := &p.folds[i], &view.Nodes[i]
		if len(fold.tasks) > 1 {
			node.Note = templates.Plural(int64(len(fold.tasks)), "task", "tasks")
			node.Words = fold.name + ", " + node.Note
			node.Href = "/dags/" + d.Name + "/grid?q=" + strings.TrimSuffix(fold.name, "*")
			continue
		}
		task := &d.Spec.Tasks[fold.tasks[0]]
		node.Note = label(binaryOf(d, fold.tasks[0]), labelRoom+3)
		node.Words = task.Name + ", runs " + binaryOf(d, fold.tasks[0])
		if len(task.Needs) > 0 {
			node.Words += ", after " + someNames(task.Needs)
		}
		if task.ForEach != "" {
			node.Words += ", once for each of " + task.ForEach
		}
		node.Href = "/dags/" + d.Name + "/grid?q=" + task.Name
	}
	return view, nil
}

func binaryOf(d *engine.DAG, task int) string {
	if own := d.Spec.Tasks[task].Binary; own != "" {
		return own
	}
	return d.Spec.Defaults.Binary
}

func someNames(names []string) string {
	const shown = 5
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}

// view is the picture without anything that only a wave, or a definition, knows.
func (p *picture) view(graph *dag.Graph) templates.Graph {
	layers := 0
	for i := range p.folds {
		layers = max(layers, p.folds[i].layer+1)
	}
	view := templates.Graph{
		Width: p.width, Height: p.height,
		Words: fmt.Sprintf("%s in %s", templates.Plural(int64(graph.Len()), "task", "tasks"), templates.Plural(int64(layers), "column", "columns")),
		Nodes: make([]templates.GraphNode, len(p.folds)), Edges: make([]templates.GraphEdge, len(p.edges)),
	}
	for i := range p.folds {
		fold := &p.folds[i]
		view.Nodes[i] = templates.GraphNode{
			Key: fmt.Sprint(i), Label: label(fold.name, labelRoom), X: fold.x, Y: fold.y, Folded: len(fold.tasks) > 1,
		}
	}
	for i, edge := range p.edges {
		view.Edges[i] = templates.GraphEdge{Key: fmt.Sprintf("%d-%d", edge.from, edge.to), Path: edge.path}
	}
	if p.hidden > 0 {
		view.Note = fmt.Sprintf("%d of %d tasks are folded with others of their layer, by the beginnings of their names; a folded node leads to its tasks.", p.hidden, graph.Len())
	}
	return view
}
