package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/engine"
)

// namedKind is what a name on the command line means.
type namedKind string

const (
	namedJob namedKind = "job"
	namedDAG namedKind = "dag"
)

// which reports whether a name is that of a job or of a DAG: job/NAME and dag/NAME say so themselves, for any other the
// server is asked.
func (c *cli) which(ctx context.Context, api *client.Client, word string) (namedKind, string, error) {
	if name, found := strings.CutPrefix(word, string(namedJob)+"/"); found {
		return namedJob, name, nil
	}
	if name, found := strings.CutPrefix(word, string(namedDAG)+"/"); found {
		return namedDAG, name, nil
	}
	_, noJob := api.Job(ctx, word)
	if noJob != nil && !absent(noJob) {
		return "", "", noJob
	}
	_, noDAG := api.DAG(ctx, word)
	if noDAG != nil && !absent(noDAG) {
		return "", "", noDAG
	}
	switch {
	case noJob != nil && noDAG != nil:
		return "", "", &refusedError{fmt.Sprintf("there is no job and no DAG %q", word)}
	case noJob == nil && noDAG == nil:
		return "", "", usage("%q is both a job and a DAG: write job/%[1]s or dag/%[1]s", word)
	case noDAG == nil:
		return namedDAG, word, nil
	}
	return namedJob, word, nil
}

func absent(err error) bool {
	answer, ok := errors.AsType[*client.APIError](err)
	return ok && answer.Status == http.StatusNotFound
}

// runOrLatest returns the id of the run that the word names, or of the latest run of the job of that name: the latest
// that has begun, if one has.
func (c *cli) runOrLatest(ctx context.Context, api *client.Client, word string) (string, error) {
	name, isJob := strings.CutPrefix(word, string(namedJob)+"/")
	if !isJob {
		_, err := api.Run(ctx, word)
		if err == nil || !absent(err) {
			return word, err
		}
	}
	if _, err := api.Job(ctx, name); absent(err) {
		return "", &refusedError{fmt.Sprintf("there is no run and no job %q", name)}
	} else if err != nil {
		return "", err
	}
	runs, err := api.Runs(ctx, client.RunFilter{Job: name, Page: client.Page{Limit: 10}})
	if err != nil {
		return "", err
	}
	if len(runs.Items) == 0 {
		return "", &refusedError{fmt.Sprintf("job %q has not run yet: start it with `tidewheel run %[1]s`", name)}
	}
	for i := range runs.Items {
		if status := runs.Items[i].Status; status != engine.StatusScheduled && status != engine.StatusQueued {
			return runs.Items[i].ID, nil
		}
	}
	return runs.Items[0].ID, nil
}
