package ui

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/tidewheel/tidewheel/templates"
	"github.com/tidewheel/tidewheel/web/service"
)

// waveGraph draws how the tasks of a wave stand.
func (u *UI) waveGraph(detail *service.WaveDetail, critical map[int]bool) templates.Graph {
	now := u.now()
	p := u.pictures.of(detail.Wave.DAGUID, detail.Wave.Generation, detail.Graph)
	view := p.view(detail.Graph)
	for i := range p.folds {
		node := &view.Nodes[i]
		if tasks := p.folds[i].tasks; len(tasks) > 1 {
			foldedNode(detail, &p.folds[i], node)
			for _, task := range tasks {
				node.Critical = node.Critical || critical[task]
			}
			continue
		}
		at := p.folds[i].tasks[0]
		task := &detail.Tasks[at]
		node.Critical, node.Status = critical[at], stateName(task)
		node.Note = strings.ReplaceAll(node.Status, "_", " ")
		if took := task.Took(now); took > 0 {
			node.Note += ", " + templates.Span(took)
		}
		if task.Items != nil {
			node.Note = fmt.Sprintf("%d of %d items ended", task.Items.Total-task.Items.Waiting-task.Items.Running, task.Items.Total)
			if task.Items.Failed > 0 {
				node.Note = fmt.Sprintf("%d of %d items failed", task.Items.Failed, task.Items.Total)
			}
		}
		node.Words = task.Name + ": " + strings.ReplaceAll(node.Status, "_", " ")
		if task.Reason != "" {
			node.Words += ", " + readable([]byte(task.Reason))
		}
		if node.Critical {
			node.Words += ", on the critical path"
		}
		node.Href = "/runs/" + task.Run
		if task.Run == "" {
			node.Href = "/waves/" + detail.Wave.ID + "?q=" + url.QueryEscape(task.Name) + "#tasks"
		}
		if task.Items != nil {
			node.Href = "/waves/" + detail.Wave.ID + "?unfold=" + url.QueryEscape(task.Name) + "#task-" + task.Name
		}
	}
	for i, edge := range p.edges {
		view.Edges[i].Critical = view.Nodes[edge.from].Critical && view.Nodes[edge.to].Critical
	}
	return view
}

// foldedNode says how the tasks stand that one node stands for: by the worst of them, and all as shares of a bar.
func foldedNode(detail *service.WaveDetail, fold *fold, node *templates.GraphNode) {
	counts := map[string]int{}
	for _, task := range fold.tasks {
		counts[detail.Tasks[task].State.String()]++
	}
	at := 0
	var words []string
	for _, state := range waveStates {
		n := counts[state.String()]
		if n == 0 {
			continue
		}
		if node.Status == "" {
			node.Status = state.String()
		}
		node.Shares = append(node.Shares, templates.GraphShare{
			Status: state.String(), From: float64(at) / float64(len(fold.tasks)), To: float64(at+n) / float64(len(fold.tasks)),
		})
		at += n
		words = append(words, fmt.Sprintf("%d %s", n, strings.ReplaceAll(state.String(), "_", " ")))
	}
	count := templates.Plural(int64(len(fold.tasks)), "task", "tasks")
	node.Words = fmt.Sprintf("%s, %s: %s", fold.name, count, strings.Join(words, ", "))
	suffix := fmt.Sprintf(" · %d", len(fold.tasks))
	node.Label = label(fold.name, labelRoom-len(suffix)) + suffix
	query := fold.name
	if !strings.HasSuffix(query, "*") {
		query = ""
	}
	node.Href = "/waves/" + detail.Wave.ID + "?q=" + url.QueryEscape(query) + "#tasks"
}
