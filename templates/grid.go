package templates

import "time"

// Grid is how the tasks of a DAG did in its last waves.
type Grid struct {
	Page  Page
	Head  Head
	Text  string     // what the names of tasks are narrowed to
	Waves []GridWave // the oldest first
	Rows  []GridRow
	Key   []string // the states that are shown
	Shown string   // which of how many tasks, in words
	Pager Pager
	Live  string
}

// GridWave is a column.
type GridWave struct {
	ID     string
	Epoch  int64
	Status string
	Words  string
	Began  time.Time // zero before it has
	Share  float64   // how long it took, of the longest; 0 where it has not ended
	NewDay bool      // in UTC; the script goes by the reader's days
}

// GridRow is a task.
type GridRow struct {
	Task  string
	Cells []GridCell
}

// GridCell is a task in a wave.
type GridCell struct {
	State string // "" where the task has not come to it, or was not there
	Href  string // "" where there is nothing to lead to
	Words string
	Panel string  // its page beside the grid; "" for none
	Count string  // of a mapped task: how many items; "" for others
	Share float64 // how long it took, of the longest of its row; 0 where that is not known
}

// The bars of durations, in pixels.
const (
	waveBar = 40
	cellBar = 28
)

func barHeight(share float64) string { return short(max(share*waveBar, 2)) }

func barTop(share float64) string { return short(waveBar - max(share*waveBar, 2)) }

func barWidth(share float64) string { return short(max(share*cellBar, 1.5)) }

// entry reports whether a cell is where the Tab key comes in: the newest of the first row that leads somewhere.
func (g Grid) entry(row, column int) bool {
	for i := range g.Rows {
		for j := len(g.Rows[i].Cells) - 1; j >= 0; j-- {
			if g.Rows[i].Cells[j].Href != "" {
				return i == row && j == column
			}
		}
	}
	return false
}
