package templates

import "strconv"

// Chart is a cloud of spans, one for each of a job's last runs, the oldest at the left.
type Chart struct {
	Name  string // "Duration"
	Words string // what it shows, in a sentence
	Top   string // the span at its upper edge
	P50   string
	P95   string
	// Where those lines lie, 0 (below) … 1 (above).
	AtP50, AtP95 float64
	Dots         []Dot
	Outliers     []Outlier
}

// Dot is a run in a chart, or a wave.
type Dot struct {
	Run    string
	Wave   string
	Status string
	Words  string  // "4.2 s, succeeded, 2026-11-20 12:00:00 UTC"
	At     float64 // from left (0) to right (1)
	Height float64 // from below (0) to above (1)
}

// Outlier is a run that took far longer than most.
type Outlier struct {
	Run, Wave   string
	Span, Times string // "4.2 s", "8 times the median"
	Status      string
}

func chartHref(run, wave string) string {
	if wave != "" {
		return "/waves/" + wave
	}
	return "/runs/" + run
}

const (
	chartWidth  = 600
	chartHeight = 150
	chartMargin = 8
)

func chartX(at float64) string {
	return short(chartMargin + at*(chartWidth-2*chartMargin))
}

func chartY(height float64) string {
	return short(chartHeight - chartMargin - min(max(height, 0), 1)*(chartHeight-2*chartMargin))
}

func chartBox() string { return "0 0 " + strconv.Itoa(chartWidth) + " " + strconv.Itoa(chartHeight) }

// dotShape draws a run: bad ones are crosses, so that their colour is not needed.
func dotShape(x, y float64) string {
	return "M" + short(x-4) + " " + short(y-4) + "l8 8m0-8l-8 8"
}

func (d Dot) cross() string {
	x := chartMargin + d.At*(chartWidth-2*chartMargin)
	y := chartHeight - chartMargin - min(max(d.Height, 0), 1)*(chartHeight-2*chartMargin)
	return dotShape(x, y)
}
