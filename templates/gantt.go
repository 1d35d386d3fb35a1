package templates

import "strconv"

// Gantt shows when the tasks of a wave waited and ran. Places are shares of the time that is shown, 0 … 1.
type Gantt struct {
	Words string // what it shows, in a sentence
	Note  string // what is left out; "" for nothing
	Ticks []GanttTick
	Rows  []GanttRow
}

// GanttTick is a line at a span after the wave's beginning.
type GanttTick struct {
	At    float64
	Words string
}

// GanttRow is a task.
type GanttRow struct {
	Task     string
	Run      string // "" where there is none
	State    string
	Critical bool
	Took     string
	Words    string // all of it
	Bars     []GanttBar
}

// GanttBar is a stretch of time: of waiting in the queue, or of an attempt.
type GanttBar struct {
	From, To float64
	Status   string // of the attempt; "" for waiting
	Words    string
}

// ganttX is a place as SVG writes it, of the width that the row has on the reader's screen.
func ganttX(at float64) string { return strconv.FormatFloat(100*at, 'f', 2, 64) + "%" }

// ganttSpan is never so narrow that it cannot be seen.
func ganttSpan(bar GanttBar) string { return ganttX(max(bar.To-bar.From, 0.003)) }

// ganttAnchor keeps the words of a line inside the chart.
func ganttAnchor(at float64) string {
	if at > 0.93 {
		return "end"
	}
	return "middle"
}
