package ui

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

const (
	// outlierTimes is how many times the median, and past the 95 %, a run takes that is pointed out.
	outlierTimes   = 3
	outliersListed = 3
)

func durationChart(statistics *service.Statistics, zone templates.Zone) templates.Chart {
	chart := spanChart(statistics.Marks, statistics.Duration, zone, func(mark *engine.RunMark) (time.Duration, bool) {
		took, ok := mark.Took()
		return took, ok && mark.Status != engine.StatusCancelled
	})
	chart.Name, chart.Words = "Duration", chartWords("each took", statistics.Duration)
	return chart
}

func lagChart(statistics *service.Statistics, zone templates.Zone) templates.Chart {
	chart := spanChart(statistics.Marks, statistics.Lag, zone, (*engine.RunMark).Lag)
	chart.Name, chart.Words = "Start lag", chartWords("after its slot each began", statistics.Lag)
	return chart
}

func chartWords(what string, spread service.Spread) string {
	switch {
	case spread.Count == 0 && what == "each took":
		return "No run has ended yet."
	case spread.Count == 0:
		return "No slot has fired on time yet; manual runs have no lag."
	}
	return fmt.Sprintf("how long %s, of the last %s", what, templates.Plural(int64(spread.Count), "run", "runs"))
}

// spanChart draws a span of each run, the oldest first.
func spanChart(
	marks []engine.RunMark, spread service.Spread, zone templates.Zone, span func(*engine.RunMark) (time.Duration, bool),
) templates.Chart {
	if spread.Count == 0 {
		return templates.Chart{}
	}
	top := float64(max(spread.Max, time.Microsecond))
	chart := templates.Chart{
		Top: templates.Span(spread.Max), P50: templates.Span(spread.P50), P95: templates.Span(spread.P95),
		AtP50: float64(spread.P50) / top, AtP95: float64(spread.P95) / top,
	}
	type point struct {
		mark *engine.RunMark
		span time.Duration
	}
	var points []point
	for i := len(marks) - 1; i >= 0; i-- {
		if d, ok := span(&marks[i]); ok {
			points = append(points, point{&marks[i], d})
		}
	}
	for i, p := range points {
		at := p.mark.CreatedAt
		if !p.mark.Slot.IsZero() {
			at = p.mark.Slot
		}
		dot := templates.Dot{
			Run: p.mark.ID, Status: p.mark.Status.String(), Height: float64(p.span) / top, At: 0.5,
			Words: fmt.Sprintf("%s, %s, %s", templates.Span(p.span), p.mark.Status, zone.Words(at)),
		}
		if len(points) > 1 {
			dot.At = float64(i) / float64(len(points)-1)
		}
		chart.Dots = append(chart.Dots, dot)
	}
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(b.span, a.span) })
	for _, p := range points[:min(outliersListed, len(points))] {
		if spread.P50 > 0 && p.span > spread.P95 && p.span >= outlierTimes*spread.P50 {
			chart.Outliers = append(chart.Outliers, templates.Outlier{
				Run: p.mark.ID, Span: templates.Span(p.span), Status: p.mark.Status.String(),
				Times: fmt.Sprintf("%d times the median", p.span/spread.P50),
			})
		}
	}
	return chart
}
