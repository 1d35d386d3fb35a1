package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidewheel/tidewheel/dag"
	"github.com/tidewheel/tidewheel/templates"
)

// A picture stays readable, and costs the same, however many tasks there are: past these numbers tasks are folded.
const (
	tasksUnfolded = 90 // in all
	layerUnfolded = 14 // of one layer
	foldFrom      = 3  // of one stem
	layersApart   = 60
	bendsAtMost   = 4_000
)

// The gaps between nodes, in pixels.
const (
	layerGap   = 58
	rowGap     = 16
	bendHeight = 14
	pictureRim = 12
)

// fold is a node of a picture: one task, or several of a layer.
type fold struct {
	name  string // of the task, or "shop-*"
	tasks []int  // in the order of the definition
	layer int
	x, y  int
}

// picture is where the nodes of a graph lie and how its edges go. It is made once for a generation and never changed.
type picture struct {
	folds         []fold
	edges         []pictureEdge
	width, height int
	hidden        int   // tasks that stand in a fold with others
	of            []int // the fold of each task
}

type pictureEdge struct {
	from, to int // folds
	path     string
}

// draw folds and lays out a graph, from left to right.
func draw(graph *dag.Graph) *picture {
	p := &picture{of: make([]int, graph.Len())}
	p.folds = folded(graph)
	for i := range p.folds {
		for _, task := range p.folds[i].tasks {
			p.of[task] = i
		}
		if len(p.folds[i].tasks) > 1 {
			p.hidden += len(p.folds[i].tasks)
		}
	}
	p.lay(p.needs(graph))
	return p
}

// folded puts tasks of a layer together where there are too many to be seen.
func folded(graph *dag.Graph) []fold {
	layers := graph.Layers()
	every := graph.Len() <= tasksUnfolded
	var folds []fold
	if len(layers) > layersApart {
		step := (len(layers) + layersApart - 1) / layersApart
		for from := 0; from < len(layers); from += step {
			to := min(from+step, len(layers))
			tasks := slices.Concat(layers[from:to]...)
			name := fmt.Sprintf("layers %d to %d", from+1, to)
			if len(tasks) == 1 {
				name = graph.Name(tasks[0])
			}
			folds = append(folds, fold{name: name, tasks: tasks, layer: from / step})
		}
		return folds
	}
	for layer, tasks := range layers {
		if every && len(tasks) <= layerUnfolded || len(tasks) < foldFrom {
			for _, task := range tasks {
				folds = append(folds, fold{name: graph.Name(task), tasks: []int{task}, layer: layer})
			}
			continue
		}
		groups := grouped(graph, tasks, stem)
		if len(groups) > layerUnfolded {
			groups = grouped(graph, tasks, beginning)
		}
		if len(groups) > layerUnfolded {
			groups = []fold{{name: fmt.Sprintf("%d tasks", len(tasks)), tasks: tasks}}
		}
		for _, group := range groups {
			group.layer = layer
			folds = append(folds, group)
		}
	}
	return folds
}

// grouped folds the tasks whose names have the same stem, if there are several.
func grouped(graph *dag.Graph, tasks []int, stem func(string) string) (groups []fold) {
	at := map[string]int{}
	for _, task := range tasks {
		key := stem(graph.Name(task))
		i, known := at[key]
		if !known {
			i = len(groups)
			at[key] = i
			groups = append(groups, fold{name: key + "*"})
		}
		groups[i].tasks = append(groups[i].tasks, task)
	}
	var apart []fold
	for _, group := range groups {
		if len(group.tasks) >= foldFrom {
			apart = append(apart, group)
			continue
		}
		for _, task := range group.tasks {
			apart = append(apart, fold{name: graph.Name(task), tasks: []int{task}})
		}
	}
	return apart
}

// stem is a name without the number at its end.
func stem(name string) string { return strings.TrimRight(name, "0123456789") }

// beginning is a name up to its first dash or underscore.
func beginning(name string) string {
	if at := strings.IndexAny(name, "-_"); at > 0 {
		return name[:at+1]
	}
	return stem(name)
}

// needs are the edges between folds that a picture needs: what follows from others is left out.
func (p *picture) needs(graph *dag.Graph) [][]int {
	seen := map[[2]int]bool{}
	nodes := make([]dag.Task, len(p.folds))
	for i := range nodes {
		nodes[i].Name = strconv.Itoa(i)
	}
	for task := range graph.Len() {
		for need := range graph.Needs(task) {
			edge := [2]int{p.of[need], p.of[task]}
			if edge[0] == edge[1] || seen[edge] {
				continue
			}
			seen[edge] = true
			nodes[edge[1]].Needs = append(nodes[edge[1]].Needs, nodes[edge[0]].Name)
		}
	}
	small, err := dag.New(nodes)
	if err != nil { // folds are of one layer, or of layers that follow each other: they form no cycle
		return make([][]int, len(p.folds))
	}
	return small.Reduced()
}

// place is a node of a layer, or a bend of an edge that passes through it.
type place struct {
	fold   int // -1 for a bend
	height float64
	middle float64
	before []int // places of the layer before, by their indexes there
	after  []int
}

// lay gives every fold its place and every edge its way.
func (p *picture) lay(needs [][]int) {
	layers, routes := p.places(needs)
	for range 4 {
		for l := 1; l < len(layers); l++ {
			sortLayer(layers, l, true)
		}
		for l := len(layers) - 2; l >= 0; l-- {
			sortLayer(layers, l, false)
		}
	}
	spread(layers)
	top := 0.0
	for _, layer := range layers {
		for _, node := range layer.nodes {
			top = min(top, node.middle-node.height/2)
		}
	}
	for l, layer := range layers {
		for _, node := range layer.nodes {
			node.middle -= top - pictureRim
			p.height = max(p.height, int(node.middle+node.height/2)+pictureRim+6)
			if node.fold >= 0 {
				f := &p.folds[node.fold]
				f.x, f.y = pictureRim+l*(templates.NodeWidth+layerGap), int(node.middle-templates.NodeHeight/2)
			}
		}
	}
	p.width = 2*pictureRim + len(layers)*(templates.NodeWidth+layerGap) - layerGap + 6
	for _, r := range routes {
		p.edges = append(p.edges, pictureEdge{from: r.from, to: r.to, path: p.way(r)})
	}
}

type layerOf struct {
	nodes []*place // in their present order
	made  []*place // as they were made: what before and after name
}

type route struct {
	from, to int
	bends    []*place
	layer    int // of the first bend
}

// places puts the folds, and the bends of edges that pass a layer, into layers.
func (p *picture) places(needs [][]int) ([]layerOf, []route) {
	count := 0
	for i := range p.folds {
		count = max(count, p.folds[i].layer+1)
	}
	layers := make([]layerOf, count)
	index := make([]int, len(p.folds))
	add := func(l int, node *place) int {
		layers[l].made = append(layers[l].made, node)
		layers[l].nodes = append(layers[l].nodes, node)
		return len(layers[l].made) - 1
	}
	for i := range p.folds {
		index[i] = add(p.folds[i].layer, &place{fold: i, height: templates.NodeHeight + rowGap})
	}
	var routes []route
	bends := 0
	for to := range needs {
		for _, from := range needs[to] {
			r := route{from: from, to: to, layer: p.folds[from].layer + 1}
			last, at := index[from], p.folds[from].layer
			span := p.folds[to].layer - at - 1
			if bends+span <= bendsAtMost {
				bends += span
				for l := at + 1; l < p.folds[to].layer; l++ {
					bend := &place{fold: -1, height: bendHeight}
					i := add(l, bend)
					link(layers, l, last, i)
					r.bends, last, at = append(r.bends, bend), i, l
				}
			}
			if at == p.folds[to].layer-1 {
				link(layers, at+1, last, index[to])
			}
			routes = append(routes, r)
		}
	}
	return layers, routes
}

// link joins a place of the layer before l with one of l.
func link(layers []layerOf, l, before, after int) {
	from, to := layers[l-1].made[before], layers[l].made[after]
	from.after = append(from.after, after)
	to.before = append(to.before, before)
}

// sortLayer puts each place of a layer near the middle of those it is joined with, on one side.
func sortLayer(layers []layerOf, l int, before bool) {
	other := l + 1
	if before {
		other = l - 1
	}
	rank := make(map[*place]float64, len(layers[other].nodes))
	for i, node := range layers[other].nodes {
		rank[node] = float64(i)
	}
	weight := make(map[*place]float64, len(layers[l].nodes))
	for i, node := range layers[l].nodes {
		joined := node.joined(before)
		if len(joined) == 0 {
			weight[node] = float64(i)
			continue
		}
		for _, j := range joined {
			weight[node] += rank[layers[other].made[j]] / float64(len(joined))
		}
	}
	slices.SortStableFunc(layers[l].nodes, func(a, b *place) int { return cmp.Compare(weight[a], weight[b]) })
}

func (n *place) joined(before bool) []int {
	if before {
		return n.before
	}
	return n.after
}

// spread gives the places of each layer their heights: near those they are joined with, and not over one another.
func spread(layers []layerOf) {
	for l := range layers {
		below := 0.0
		for _, node := range layers[l].nodes {
			node.middle = below + node.height/2
			below += node.height
		}
		for _, node := range layers[l].nodes {
			node.middle -= below / 2
		}
	}
	for round := range 6 {
		for i := range layers {
			l := i
			if round%2 == 1 {
				l = len(layers) - 1 - i
			}
			settle(layers, l, round%2 == 0)
		}
	}
}

func settle(layers []layerOf, l int, before bool) {
	other := l + 1
	if before {
		other = l - 1
	}
	if other < 0 || other >= len(layers) {
		return
	}
	nodes := layers[l].nodes
	wanted := make([]float64, len(nodes))
	for i, node := range nodes {
		wanted[i] = node.middle
		if joined := node.joined(before); len(joined) > 0 {
			wanted[i] = 0
			for _, j := range joined {
				wanted[i] += layers[other].made[j].middle / float64(len(joined))
			}
		}
	}
	// Down from above, so that none lies over another; then all together to where they would be on the whole.
	placed := slices.Clone(wanted)
	shift := 0.0
	for i := range placed {
		if i > 0 {
			placed[i] = max(placed[i], placed[i-1]+(nodes[i-1].height+nodes[i].height)/2)
		}
		shift += (wanted[i] - placed[i]) / float64(len(placed))
	}
	for i, node := range nodes {
		node.middle = placed[i] + shift
	}
}

// way writes an edge: through its bends, level where it leaves and arrives.
func (p *picture) way(r route) string {
	from, to := &p.folds[r.from], &p.folds[r.to]
	x, y := from.x+templates.NodeWidth, float64(from.y)+templates.NodeHeight/2
	var path strings.Builder
	fmt.Fprintf(&path, "M%d %.0f", x, y)
	curve := func(toX int, toY float64) {
		half := (toX - x) / 2
		fmt.Fprintf(&path, "C%d %.0f %d %.0f %d %.0f", x+half, y, toX-half, toY, toX, toY)
		x, y = toX, toY
	}
	for i, bend := range r.bends {
		left := pictureRim + (r.layer+i)*(templates.NodeWidth+layerGap)
		curve(left, bend.middle)
		x = left + templates.NodeWidth
		fmt.Fprintf(&path, "H%d", x)
	}
	curve(to.x-2, float64(to.y)+templates.NodeHeight/2)
	return path.String()
}

// label cuts a name to what fits into a node; what tells names apart is mostly at their ends.
func label(name string, room int) string {
	runes := []rune(name)
	if len(runes) <= room {
		return name
	}
	tail := room / 2
	return string(runes[:room-tail-1]) + "…" + string(runes[len(runes)-tail:])
}
