package templates

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// StripCell is a run in a strip of recent ones.
type StripCell struct {
	Status string
	// Weight is how long it took beside the longest of the strip, 0 … 1: the height of its bar.
	Weight float64
}

const (
	stripStep   = 8  // from one bar to the next
	stripHeight = 24 // of the strip, in the same units
)

// stripWords says what a strip shows of runs, or of waves, for those who do not see it: "last 30 runs: 28 succeeded, 2 failed".
func stripWords(of string, cells []StripCell) string {
	if len(cells) == 0 {
		return "no " + of + " yet"
	}
	var order []string
	counts := map[string]int{}
	for _, cell := range cells {
		word := statusLook(cell.Status).word
		if counts[word] == 0 {
			order = append(order, word)
		}
		counts[word]++
	}
	parts := make([]string, len(order))
	for i, word := range order {
		parts[i] = fmt.Sprintf("%d %s", counts[word], word)
	}
	if len(cells) == 1 {
		return "last " + of + ": " + order[0]
	}
	return fmt.Sprintf("last %d %ss: %s", len(cells), of, strings.Join(parts, ", "))
}

// stripTop is where a good run's bar begins.
func stripTop(weight float64) int {
	weight = min(max(weight, 0), 1)
	return stripHeight - 7 - int(math.Round(weight*12))
}

// Spark is a line of figures over time, the newest last, drawn into 100 by 24; the scale begins at zero.
type Spark struct {
	Points []float64
	Words  string // what it shows, in words: "duration of the last 30 runs, 4.1 s to 9 s"
}

func (s Spark) at(i int) (x, y float64) {
	top := 0.0
	for _, p := range s.Points {
		top = max(top, p)
	}
	x = 50
	if len(s.Points) > 1 {
		x = 100 * float64(i) / float64(len(s.Points)-1)
	}
	if top == 0 {
		return x, 22
	}
	return x, 22 - 20*max(s.Points[i], 0)/top
}

func (s Spark) line() string {
	parts := make([]string, len(s.Points))
	for i := range s.Points {
		x, y := s.at(i)
		parts[i] = short(x) + "," + short(y)
	}
	return strings.Join(parts, " ")
}

func (s Spark) area() string { return "0,24 " + s.line() + " 100,24" }

// short is a coordinate, to a tenth.
func short(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
