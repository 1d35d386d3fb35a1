package dag

import (
	"slices"
	"time"
)

// Levels is the level of every task: 0 for a root, else one more than the
// highest of what it needs. The caller owns the slice.
func (g *Graph) Levels() []int {
	levels := make([]int, g.Len())
	for _, task := range g.order {
		for _, need := range g.needs[task] {
			levels[task] = max(levels[task], levels[need]+1)
		}
	}
	return levels
}

// Layers are the tasks of each level, in order. The caller owns the slices.
func (g *Graph) Layers() [][]int {
	levels := g.Levels()
	layers := make([][]int, slices.Max(levels)+1)
	for task, level := range levels {
		layers[level] = append(layers[level], task)
	}
	return layers
}

// CriticalPath is the way from a root to a leaf that takes longest when every
// task takes as long as durations says, one for each task, none negative. Of
// equally long ways it is the one through the first tasks of the definition. The
// caller owns the path.
func (g *Graph) CriticalPath(durations []time.Duration) (path []int, total time.Duration) {
	// longest is the time from the start of the wave to the end of a task, slowest the need that it waits for last.
	longest := make([]time.Duration, g.Len())
	slowest := make([]int32, g.Len())
	for _, task := range g.order {
		slowest[task] = -1
		for _, need := range g.needs[task] {
			before := slowest[task]
			if before < 0 || longest[need] > longest[before] || longest[need] == longest[before] && need < before {
				slowest[task] = need
			}
		}
		longest[task] = durations[task]
		if slowest[task] >= 0 {
			longest[task] += longest[slowest[task]]
		}
	}
	last := -1
	for task := range longest {
		if len(g.dependants[task]) == 0 && (last < 0 || longest[task] > longest[last]) {
			last = task
		}
	}
	total = longest[last]
	for task := int32(last); task >= 0; task = slowest[task] {
		path = append(path, int(task))
	}
	slices.Reverse(path)
	return path, total
}

// Reach tells which tasks come before which.
type Reach struct{ above [][]uint64 }

// Reach works out what every task needs, directly or not. It takes up to
// tasks × needs ÷ 64 steps and tasks² ÷ 8 bytes.
func (g *Graph) Reach() *Reach {
	words := (g.Len() + 63) / 64
	above := make([][]uint64, g.Len())
	for _, task := range g.order {
		above[task] = make([]uint64, words)
		for _, need := range g.needs[task] {
			for word, bits := range above[need] {
				above[task][word] |= bits
			}
			above[task][need/64] |= 1 << (need % 64)
		}
	}
	return &Reach{above}
}

// Before reports whether a task needs another, directly or not.
func (r *Reach) Before(other, task int) bool {
	return r.above[task][other/64]&(1<<(other%64)) != 0
}

// Reduced are, for each task, those of its needs that no other of its needs
// comes after: what a picture needs to show. The caller owns the slices. It
// costs what Reach does.
func (g *Graph) Reduced() [][]int {
	reach := g.Reach()
	reduced := make([][]int, g.Len())
	indirect := make([]uint64, (g.Len()+63)/64)
	for task, needs := range g.needs {
		clear(indirect)
		for _, need := range needs {
			for word, bits := range reach.above[need] {
				indirect[word] |= bits
			}
		}
		for _, need := range needs {
			if indirect[need/64]&(1<<(need%64)) == 0 {
				reduced[task] = append(reduced[task], int(need))
			}
		}
	}
	return reduced
}
