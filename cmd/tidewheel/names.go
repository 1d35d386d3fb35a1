package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidewheel/tidewheel/client"
)

// namedKind is what a name on the command line means.
type namedKind string

const (
	namedJob namedKind = "job"
	namedDAG namedKind = "dag"
)

// which tells whether a name is that of a job or of a DAG: job/NAME and dag/NAME say so themselves, for any other the
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
