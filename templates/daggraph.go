package templates

import (
	"strconv"
	"strings"
)

// Graph is a picture of tasks and of what they need, from left to right. Its places are in pixels.
type Graph struct {
	Words         string // what it shows, for those who do not see it
	Note          string // what is folded, and what to do about it; "" for nothing
	Width, Height int
	Nodes         []GraphNode
	Edges         []GraphEdge
}

// GraphNode is a task in a graph, or several that are folded into one.
type GraphNode struct {
	Key      string // of the node in its picture
	Label    string // its name, cut to what fits
	Note     string // a second line: what it runs, or how long it took
	Words    string // all of it
	Href     string
	Status   string // of a task in a wave; "" where there is none
	X, Y     int    // its upper left corner
	Folded   bool
	Critical bool
	Shares   []GraphShare // of a folded node in a wave: how its tasks stand
}

// GraphShare is a part of a folded node's bar.
type GraphShare struct {
	Status   string
	From, To float64 // 0 … 1
}

// GraphEdge leads from what is needed to what needs it.
type GraphEdge struct {
	Key      string
	Path     string // as SVG writes it
	Critical bool
}

// The size of a node.
const (
	NodeWidth  = 184
	NodeHeight = 46
)

func (g Graph) box() string {
	return "0 0 " + strconv.Itoa(g.Width) + " " + strconv.Itoa(g.Height)
}

func (n GraphNode) class() string {
	classes := []string{"node"}
	if n.Status != "" {
		classes = append(classes, taskLook(n.Status).tone, "is-"+strings.ReplaceAll(n.Status, "_", "-"))
	}
	if n.Folded {
		classes = append(classes, "folded")
	}
	if n.Critical {
		classes = append(classes, "critical")
	}
	return strings.Join(classes, " ")
}

func (n GraphNode) shareX(share GraphShare) string {
	return short(float64(n.X) + 10 + share.From*(NodeWidth-20))
}

func (n GraphNode) shareWidth(share GraphShare) string {
	return short((share.To - share.From) * (NodeWidth - 20))
}

// textX leaves room for the shape of a status.
func (n GraphNode) textX() string {
	if n.Status == "" {
		return strconv.Itoa(n.X + 12)
	}
	return strconv.Itoa(n.X + 34)
}

func at(n, more int) string { return strconv.Itoa(n + more) }

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
