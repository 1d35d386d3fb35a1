package templates

import (
	"strconv"
	"strings"
	"time"
)

// WaveTask is one task of a wave, or one item of a mapped task, as the panel beside a wave shows it.
type WaveTask struct {
	Page     Page
	Wave     string
	Epoch    int64
	DAG      string
	Name     string
	Item     string // "item 3"; "" for the task itself
	State    string
	Reason   string
	Started  time.Time
	Since    time.Time // Started, moved by how long the wave rested while the task had begun
	Finished time.Time
	Took     string
	Address  string // of this page
	Needs    []Crumb
	Before   []Crumb // the tasks that need it
	Counts   []WaveCount
	Items    []ItemRow

	Run    *Run // nil before there is one, and of a mapped task
	Shown  int  // the attempt whose output is shown
	Output Output

	CanMark, CanResume, CanClear bool
}

func (v WaveTask) title() string {
	if v.Item != "" {
		return v.Name + ", " + v.Item
	}
	return v.Name
}

// itemQuery names the item, where the panel shows one.
func (v WaveTask) itemQuery() string {
	if n, is := strings.CutPrefix(v.Item, "item "); is {
		return "&item=" + n
	}
	return ""
}

// latest is the newest attempt, 0 before the first.
func (v WaveTask) latest() int {
	if v.Run == nil || len(v.Run.Attempts) == 0 {
		return 0
	}
	return v.Run.Attempts[len(v.Run.Attempts)-1].N
}

func (v WaveTask) attemptAddress(n int) string { return v.Address + "&attempt=" + strconv.Itoa(n) }
