package templates

import (
	"slices"
	"time"
)

// Generation is a form that a definition has had.
type Generation struct {
	N       int64
	At      time.Time
	By      string
	Message string
}

// Generations is a page of the forms that a definition has had, the newest first, and how two of them differ.
type Generations struct {
	Of       string // the definition's name
	Path     string // where its pages are: "/jobs/nightly"
	Note     string // said beside the heading
	Present  int64
	Forms    []Generation
	Pager    Pager
	From, To int64 // what is compared; 0 for nothing
	Compared bool
	Changes  Changes
}

// offered are the forms that can be chosen for a comparison: those that are listed, the present one, and those that are compared.
func (v Generations) offered() []int64 {
	numbers := []int64{v.Present}
	for _, g := range v.Forms {
		numbers = append(numbers, g.N)
	}
	if v.Compared {
		numbers = append(numbers, v.From, v.To)
	}
	slices.SortFunc(numbers, func(a, b int64) int { return int(b - a) })
	return slices.Compact(numbers)
}

// chosenFrom is the older form of the comparison that the page shows or proposes: the newest listed one before the present.
func (v Generations) chosenFrom() int64 {
	if v.Compared {
		return v.From
	}
	for _, g := range v.Forms {
		if g.N != v.Present {
			return g.N
		}
	}
	return v.Present
}

// chosenTo is the newer form of that comparison.
func (v Generations) chosenTo() int64 {
	if v.Compared {
		return v.To
	}
	return v.Present
}
