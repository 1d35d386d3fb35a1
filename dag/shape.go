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

// Span is when a task ran; zero where it has not.
type Span struct{ From, To time.Time }

// CriticalPath returns the tasks that the end of a wave waited for, given when
// each task ran: the one that ended last, before it the one of what it needs
// that ended last before it began, and so on. Tasks that have not run are left
// out: the path goes through them to what they need. Of tasks that ended at one
// instant it takes the first of the definition. It is nil if no task has run. The
// caller owns the path.
//
// A need that ended after a task began did not hold that task up, as with the
// rule one_success, or where the need was run again when the wave was resumed.
func (g *Graph) CriticalPath(spans []Span) (path []int) {
	ran := func(task int32) bool { return task >= 0 && !spans[task].From.IsZero() }
	// before is what a task waited for last; of a task that has not run, what those after it wait for through it.
	before := make([]int32, g.Len())
	last := int32(-1)
	for _, task := range g.order {
		latest := func(held func(need Span) bool) int32 {
			found := int32(-1)
			for _, need := range g.needs[task] {
				if !ran(need) {
					need = before[need]
				}
				if ran(need) && held(spans[need]) && (found < 0 || later(spans, need, found)) {
					found = need
				}
			}
			return found
		}
		span := spans[task]
		before[task] = latest(func(need Span) bool { return !ran(task) || !need.To.After(span.From) })
		if before[task] < 0 && ran(task) {
			// The clocks of the executors may differ a little.
			before[task] = latest(func(need Span) bool { return !need.From.After(span.From) && !need.To.After(span.To) })
		}
		if ran(task) && (last < 0 || later(spans, task, last)) {
			last = task
		}
	}
	for task := last; task >= 0; task = before[task] {
		path = append(path, int(task))
	}
	slices.Reverse(path)
	return path
}

// later reports whether a task ended after another, or comes first where both
// ended at one instant.
func later(spans []Span, task, other int32) bool {
	order := spans[task].To.Compare(spans[other].To)
	return order > 0 || order == 0 && task < other
}

// Reach records which tasks come before which.
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
