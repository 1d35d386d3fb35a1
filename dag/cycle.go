package dag

import (
	"fmt"
	"slices"
	"strings"
)

// reportCycles reports one cycle of each knot of tasks that lead to each other
// (a strongly connected component), and returns which tasks are in a knot.
func (c *checker) reportCycles(blocked []bool) []bool {
	inCycle := make([]bool, len(c.tasks))
	knots := c.knots(blocked)
	for _, knot := range knots {
		for _, task := range knot {
			inCycle[task] = true
		}
	}
	for _, knot := range knots {
		cycle := c.shortestCycle(knot)
		first, last := cycle[0], cycle[len(cycle)-1]
		// The first task of the definition needs the last of the path: there it closes.
		need := slices.Index(c.graph.needs[first], last)
		c.add(Cycle, int(first), c.needIndex(int(first), need), c.tasks[last].Name,
			"closes a cycle, "+c.pathText(cycle)+": each waits for the one before it, so remove one of these needs")
	}
	return inCycle
}

// knots finds the strongly connected components of more than one task, by
// Tarjan's algorithm without recursion; each is sorted, and they are in the
// order of their first tasks. A task that needs itself is not among them.
func (c *checker) knots(blocked []bool) [][]int32 {
	const unseen = -1
	n := len(c.tasks)
	number := make([]int32, n) // in the order of visits
	lowest := make([]int32, n) // the lowest number that is reached from a task
	onStack := make([]bool, n)
	for i := range number {
		number[i] = unseen
	}
	type frame struct {
		task int32
		next int // in dependants
	}
	var (
		frames  []frame
		stack   []int32
		visited int32
		found   [][]int32
	)
	visit := func(task int32) {
		number[task], lowest[task] = visited, visited
		visited++
		stack = append(stack, task)
		onStack[task] = true
		frames = append(frames, frame{task: task})
	}
	for start := range c.tasks {
		if !blocked[start] || number[start] != unseen {
			continue
		}
		visit(int32(start))
		for len(frames) > 0 {
			top := &frames[len(frames)-1]
			task := top.task
			if dependants := c.graph.dependants[task]; top.next < len(dependants) {
				next := dependants[top.next]
				top.next++
				if number[next] == unseen {
					visit(next)
				} else if onStack[next] {
					lowest[task] = min(lowest[task], number[next])
				}
				continue
			}
			frames = frames[:len(frames)-1]
			if len(frames) > 0 {
				parent := frames[len(frames)-1].task
				lowest[parent] = min(lowest[parent], lowest[task])
			}
			if lowest[task] != number[task] {
				continue
			}
			from := len(stack) - 1
			for stack[from] != task {
				from--
			}
			knot := slices.Clone(stack[from:])
			stack = stack[:from]
			for _, member := range knot {
				onStack[member] = false
			}
			if len(knot) > 1 {
				slices.Sort(knot)
				found = append(found, knot)
			}
		}
	}
	slices.SortFunc(found, func(a, b []int32) int { return int(a[0] - b[0]) })
	return found
}

// shortestCycle is a shortest path through a knot from its first task until it
// is back there: every next task needs the previous one, and the first needs
// the last.
func (c *checker) shortestCycle(knot []int32) []int32 {
	first := knot[0]
	// before holds, for each task that was reached, the one it was reached from.
	before := make(map[int32]int32, len(knot))
	queue := []int32{first}
	for len(queue) > 0 {
		task := queue[0]
		queue = queue[1:]
		for _, next := range c.graph.dependants[task] {
			if next == first {
				var path []int32
				for at := task; at != first; at = before[at] {
					path = append(path, at)
				}
				path = append(path, first)
				slices.Reverse(path)
				return path
			}
			if _, member := slices.BinarySearch(knot, next); !member {
				continue
			}
			if _, seen := before[next]; !seen {
				before[next] = task
				queue = append(queue, next)
			}
		}
	}
	return []int32{first} // no knot is without a way back
}

// pathText is "a -> b -> c -> a"; the middle of a long way is left out.
func (c *checker) pathText(cycle []int32) string {
	const shown = 12
	var names []string
	for i, task := range cycle {
		if left := len(cycle) - shown; left > 0 && i == shown/2 {
			names = append(names, fmt.Sprintf("(%d more)", left))
		}
		if left := len(cycle) - shown; left > 0 && i >= shown/2 && i < shown/2+left {
			continue
		}
		names = append(names, shorten(c.tasks[task].Name))
	}
	names = append(names, shorten(c.tasks[cycle[0]].Name))
	return strings.Join(names, " -> ")
}
