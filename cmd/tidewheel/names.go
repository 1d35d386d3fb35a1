package main

import (
	"cmp"
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

	namedRun    namedKind = "run"
	namedWave   namedKind = "wave"
	namedBinary namedKind = "binary"
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
		return "", "", &refusedError{fmt.Sprintf("there is no job and no DAG %q%s", word, similarDefinition(ctx, api, word))}
	case noJob == nil && noDAG == nil:
		return "", "", usage("%q is both a job and a DAG: write job/%[1]s or dag/%[1]s", word)
	case noDAG == nil:
		return namedDAG, word, nil
	}
	return namedJob, word, nil
}

// similarDefinition names the job or DAG that was perhaps meant, of the first 500 of each.
func similarDefinition(ctx context.Context, api *client.Client, word string) string {
	filter := client.DefinitionFilter{Page: client.Page{Limit: 500}}
	jobs, noJobs := api.Jobs(ctx, filter)
	dags, noDAGs := api.DAGs(ctx, filter)
	if noJobs != nil || noDAGs != nil {
		return "" // it would help, and is not what was asked for
	}
	var names []string
	for i := range jobs.Items {
		names = append(names, jobs.Items[i].Name)
	}
	for i := range dags.Items {
		names = append(names, dags.Items[i].Name)
	}
	if similar := nearest(word, names); similar != "" {
		return ": did you mean " + similar + "?"
	}
	return ""
}

func absent(err error) bool {
	answer, ok := errors.AsType[*client.APIError](err)
	return ok && answer.Status == http.StatusNotFound
}

// isRefused reports whether nothing of a name was found.
func isRefused(err error) bool {
	_, refused := errors.AsType[*refusedError](err)
	return refused
}

// latestRun returns the latest run of a job, or of a task: the latest that has begun, if one has.
func latestRun(ctx context.Context, api *client.Client, filter client.RunFilter) (string, error) {
	filter.Page = client.Page{Limit: 10}
	runs, err := api.Runs(ctx, filter)
	if err != nil {
		return "", err
	}
	if len(runs.Items) == 0 {
		name := filter.Job
		if name == "" {
			name = filter.DAG + "/" + filter.Task
		}
		return "", &refusedError{fmt.Sprintf("%q has not run yet: start it with `tidewheel run %s`", name, cmp.Or(filter.Job, filter.DAG))}
	}
	for i := range runs.Items {
		if status := runs.Items[i].Status; status != engine.StatusScheduled && status != engine.StatusQueued {
			return runs.Items[i].ID, nil
		}
	}
	return runs.Items[0].ID, nil
}

const (
	// prefixLeast is how many letters of an id stand for all of it.
	prefixLeast = 4
	// prefixSearched is how many of the latest runs or waves are searched for one that begins so.
	prefixSearched = 1000
	// prefixShown is how many of them are named where there are several.
	prefixShown = 5
)

// runID returns the id of the run that a word names: an id, or the beginning of one that no other run has.
func (c *cli) runID(ctx context.Context, api *client.Client, word string) (string, error) {
	_, err := api.Run(ctx, word)
	if !absent(err) {
		return word, err
	}
	return wholeID(word, "runs", err, func(page client.Page) (ids []string, next string, err error) {
		runs, err := api.Runs(ctx, client.RunFilter{Text: word, Page: page})
		for i := range runs.Items {
			ids = append(ids, runs.Items[i].ID)
		}
		return ids, runs.Next, err
	})
}

// waveID is runID for waves.
func (c *cli) waveID(ctx context.Context, api *client.Client, word string) (string, error) {
	_, err := api.Wave(ctx, word)
	if !absent(err) {
		return word, err
	}
	return wholeID(word, "waves", err, func(page client.Page) (ids []string, next string, err error) {
		waves, err := api.Waves(ctx, client.WaveFilter{Page: page})
		for i := range waves.Items {
			ids = append(ids, waves.Items[i].ID)
		}
		return ids, waves.Next, err
	})
}

// wholeID returns the only id of a list that begins with a prefix, or the error missing where none does.
func wholeID(prefix, what string, missing error, list func(client.Page) (ids []string, next string, err error)) (string, error) {
	if len(prefix) < prefixLeast {
		return "", missing
	}
	var found []string
	page := client.Page{Limit: pageSize}
	for searched := 0; searched < prefixSearched; searched += pageSize {
		ids, next, err := list(page)
		if err != nil {
			return "", err
		}
		for _, id := range ids {
			if strings.HasPrefix(id, prefix) {
				found = append(found, id)
			}
		}
		if page.Cursor = next; next == "" || len(found) > prefixShown {
			break
		}
	}
	switch {
	case len(found) == 0:
		return "", missing
	case len(found) == 1:
		return found[0], nil
	}
	more := ""
	if len(found) > prefixShown {
		found, more = found[:prefixShown], ", …"
	}
	return "", usage("several %s begin with %q: %s%s; write more of the id", what, prefix, strings.Join(found, ", "), more)
}

// runOrWave returns the id of the run or of the wave that a word names, and which of them it is. The ids of a wave's runs begin with
// its own: the beginning of all of them stands for the wave.
func (c *cli) runOrWave(ctx context.Context, api *client.Client, word string) (run, wave string, err error) {
	if _, err = api.Run(ctx, word); !absent(err) {
		return word, "", err
	}
	if wave, err = c.waveID(ctx, api, word); !absent(err) {
		return "", wave, err
	}
	if run, err = c.runID(ctx, api, word); absent(err) {
		err = &refusedError{fmt.Sprintf("there is no run and no wave %q", word)}
	}
	return run, "", err
}
