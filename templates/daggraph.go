package templates

import (
	"strconv"
	"strings"
)

// Graph is what the script draws of a DAG, or of one of its waves: as a graph, and a wave by its times, too. See
// static/src/js/graph/view.js.
type Graph struct {
	Key      string               `json:"key"`                // of the DAG: what a reader folds is kept by it
	Path     string               `json:"path"`               // in front of the name of a task: its address
	Schedule []string             `json:"schedule,omitempty"` // of roots without their own
	Span     int64                `json:"span,omitempty"`     // milliseconds that a wave has worked
	Tasks    []GraphTask          `json:"tasks"`
	Looks    map[string]GraphLook `json:"looks,omitempty"` // of the states that tasks are in
	// Large says why there is no picture; "" where there is one.
	Large string `json:"-"`
}

// GraphTask is a task. Needs are places in the list of tasks, in the order of the definition.
type GraphTask struct {
	Name     string   `json:"name"`
	Needs    []int    `json:"needs,omitempty"`
	Binary   string   `json:"binary,omitempty"`
	Schedule []string `json:"schedule,omitempty"`
	Trigger  string   `json:"trigger,omitempty"`
	ForEach  string   `json:"for_each,omitempty"`
	When     string   `json:"when,omitempty"`

	// In a wave.
	State    string      `json:"state,omitempty"`
	Took     string      `json:"took,omitempty"`
	Reason   string      `json:"reason,omitempty"`
	Critical bool        `json:"critical,omitempty"`
	Items    *GraphItems `json:"items,omitempty"`
	Bars     []GraphBar  `json:"bars,omitempty"`
}

// GraphItems is how far the items of a mapped task have come.
type GraphItems struct {
	Total     int `json:"total"`
	Succeeded int `json:"succeeded,omitempty"`
	Failed    int `json:"failed,omitempty"`
	Running   int `json:"running,omitempty"`
	Other     int `json:"other,omitempty"` // skipped or cancelled
}

// GraphBar is a stretch of time, in milliseconds that the wave had worked: of waiting in the queue, or of an attempt.
type GraphBar struct {
	From  int64  `json:"from"`
	To    int64  `json:"to"`
	State string `json:"state,omitempty"` // of the attempt; "" for waiting
}

// GraphLook is how a state is shown.
type GraphLook struct {
	Word    string `json:"word"`
	Tone    string `json:"tone"`
	Shape   string `json:"shape"`
	Turning bool   `json:"turning,omitempty"`
}

// See adds how a state is shown.
func (g *Graph) See(state string) {
	if g.Looks == nil {
		g.Looks = map[string]GraphLook{}
	}
	if _, known := g.Looks[state]; !known {
		l := taskLook(state)
		g.Looks[state] = GraphLook{Word: l.word, Tone: l.tone, Shape: l.shape, Turning: l.turning}
	}
}

// taskLook is how the state of a task in a wave is shown.
func taskLook(state string) look {
	switch state {
	case "waiting":
		return look{word: "waiting", tone: "idle", shape: "ring"}
	case "ready":
		return look{word: "ready", tone: "idle", shape: "dots"}
	case "upstream_failed":
		return look{word: "upstream failed", tone: "warn", shape: "gap"}
	}
	return statusLook(state)
}

// starts says when a task starts, for the table; "" for the usual rule.
func (t GraphTask) starts() string {
	words := map[string]string{
		"all_done": "when all have ended", "one_success": "at the first success", "one_failed": "at the first failure",
		"none_failed": "if none failed", "always": "always, even when cancelled",
	}[t.Trigger]
	if t.When != "" {
		if words != "" {
			words += ", "
		}
		words += "if " + t.When
	}
	return words
}

// fewTasks need less room than many.
const fewTasks = 12

// tableTasks is how many tasks the table of a definition lists.
const tableTasks = 500

// needs names what a task needs, the first of many.
func (g Graph) needs(task GraphTask) string {
	const shown = 6
	var names []string
	for _, need := range task.Needs[:min(len(task.Needs), shown)] {
		names = append(names, g.Tasks[need].Name)
	}
	words := strings.Join(names, ", ")
	if more := len(task.Needs) - shown; more > 0 {
		words += " and " + strconv.Itoa(more) + " more"
	}
	return words
}

// rhythm is when a root starts.
func (g Graph) rhythm(task GraphTask) string {
	for _, schedule := range [][]string{task.Schedule, g.Schedule} {
		if len(schedule) > 0 {
			return strings.Join(schedule, ", ")
		}
	}
	return "manually"
}

var (
	definitionViews = []Option{{Value: "graph", Name: "Graph"}, {Value: "table", Name: "Table"}}
	waveViews       = []Option{{Value: "graph", Name: "Graph"}, {Value: "table", Name: "Table"}, {Value: "gantt", Name: "Gantt"}}
)

// viewOf is the view that an address asks for: the first where it asks for none of them.
func viewOf(views []Option, asked string) string {
	for _, view := range views {
		if view.Value == asked {
			return asked
		}
	}
	return views[0].Value
}
