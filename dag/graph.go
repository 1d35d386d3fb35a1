package dag

import (
	"iter"
	"slices"
)

// MaxTasks is the largest number of tasks in a DAG.
const MaxTasks = 10_000

// MaxNeeds is the largest number of needs of all tasks of a DAG together that may be defined. Every page, every wave and
// every engine that loads the DAG keeps each of them in memory.
const MaxNeeds = 100_000

// Task is a node as it is written.
type Task struct {
	Name string
	// Needs are the names of the tasks that come before this one. A task without needs is a root.
	Needs   []string
	Trigger Trigger
	// Scheduled means that this root has a schedule, its own or the DAG's.
	Scheduled bool
}

// Graph is a DAG that was found sound. It is never changed, and may be used by
// many at once. Tasks are their indexes in the list that New was given.
type Graph struct {
	names      []string
	index      map[string]int
	triggers   []Trigger
	needs      [][]int32
	dependants [][]int32
	order      []int32 // every task after all that it needs
	roots      []int
}

// New makes the graph of tasks. The error is a [Faults] with every fault.
func New(tasks []Task) (*Graph, error) {
	faults, g := check(tasks)
	if len(faults) > 0 {
		return nil, faults
	}
	g.triggers = make([]Trigger, len(tasks))
	for i := range tasks {
		g.triggers[i] = tasks[i].Trigger
		if len(g.needs[i]) == 0 {
			g.roots = append(g.roots, i)
		}
	}
	return g, nil
}

// Len is the number of tasks.
func (g *Graph) Len() int { return len(g.names) }

// Name is the name of a task.
func (g *Graph) Name(task int) string { return g.names[task] }

// Index finds a task by its name.
func (g *Graph) Index(name string) (task int, known bool) {
	task, known = g.index[name]
	return task, known
}

// Trigger is the rule of a task.
func (g *Graph) Trigger(task int) Trigger { return g.triggers[task] }

// Needs are the tasks that a task needs, in the order of its definition.
func (g *Graph) Needs(task int) iter.Seq[int] { return numbers(g.needs[task]) }

// Root reports whether a task needs nothing.
func (g *Graph) Root(task int) bool { return len(g.needs[task]) == 0 }

// Roots are the tasks that need nothing, in order. The caller owns the slice.
func (g *Graph) Roots() []int { return slices.Clone(g.roots) }

// Order is every task after all that it needs. The caller owns the slice.
func (g *Graph) Order() []int { return slices.Collect(numbers(g.order)) }

// Upstream are all tasks that a task needs, directly or not, in order. The
// caller owns the slice.
func (g *Graph) Upstream(task int) []int { return g.reach(task, g.needs) }

// Downstream are all tasks that need a task, directly or not, in order. The
// caller owns the slice.
func (g *Graph) Downstream(task int) []int { return g.reach(task, g.dependants) }

func (g *Graph) reach(from int, edges [][]int32) []int {
	seen := make([]bool, g.Len())
	stack := []int32{int32(from)}
	var found []int
	for len(stack) > 0 {
		task := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, next := range edges[task] {
			if !seen[next] {
				seen[next] = true
				found = append(found, int(next))
				stack = append(stack, next)
			}
		}
	}
	slices.Sort(found)
	return found
}

func numbers(tasks []int32) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, task := range tasks {
			if !yield(int(task)) {
				return
			}
		}
	}
}
