package templates

import (
	"net/url"
	"strings"
)

// WaveRun says of a run which task of which wave it is; the zero value is that of a job's run.
type WaveRun struct {
	DAG, Task string
	Wave      string // its id
	Epoch     int64
	Item      string // "item 3"; "" for a task that is not mapped
}

// OwnerHref leads to what a slot or a run is of: a job, or "dag/root".
func OwnerHref(label string) string {
	if dag, _, of := strings.Cut(label, "/"); of {
		return "/dags/" + url.PathEscape(dag)
	}
	return "/jobs/" + url.PathEscape(label)
}

func (w WaveRun) taskHref() string {
	return "/waves/" + w.Wave + "?q=" + url.QueryEscape(w.Task) + "#tasks"
}

func runLabel(job string, of WaveRun) string {
	if of.DAG == "" {
		return job
	}
	return of.DAG + "/" + of.Task
}
