package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

// getFilters are the flags that narrow each list. Another one is refused: a list that ignores a filter would be taken
// for what the filter leaves.
var getFilters = map[string][]string{
	"jobs":         {"status", "tier", "label", "search", "order", "limit"},
	"dags":         {"status", "label", "search", "order", "limit"},
	"runs":         {"status", "job", "dag", "task", "tier", "by", "search", "since", "until", "limit"},
	"waves":        {"status", "dag", "since", "until", "limit"},
	"binaries":     {"limit"},
	"executors":    {},
	"engines":      {},
	"queues":       {},
	"dead-letters": {"job", "limit"},
}

// checkFilters refuses flags that a list, or a look at one thing, does not know.
func checkFilters(cmd *cobra.Command, kind string, one bool) error {
	for _, name := range []string{"status", "job", "dag", "task", "tier", "by", "label", "search", "order", "since", "until", "limit"} {
		switch known := getFilters[kind]; {
		case !cmd.Flags().Changed(name):
		case one:
			return usage("--%s narrows a list: leave it out, or leave the name out", name)
		case len(known) == 0:
			return usage("--%s does not narrow %s: they are always all listed", name, kind)
		case !slices.Contains(known, name):
			return usage("--%s does not narrow %s, only --%s", name, kind, strings.Join(known, ", --"))
		}
	}
	return nil
}

// definitionOrders are what lists of jobs and DAGs can be ordered by.
var definitionOrders = []string{"name", "next", "last", "failures"}

// span reads --since and --until.
func (f *getFlags) span(now time.Time) (since, until time.Time, err error) {
	if since, err = parseSince(f.since, now); err != nil {
		return since, until, usage("--since: %w", err)
	}
	if until, err = parseSince(f.until, now); err != nil {
		return since, until, usage("--until: %w", err)
	}
	if f.task != "" && f.dag == "" {
		return since, until, usage("--task is that of a DAG: add --dag")
	}
	return since, until, nil
}

// definitionStates are the --status of jobs and of DAGs, which have states of their own: a job is failing when its last run
// failed.
var definitionStates = map[string]struct {
	title, of string
	states    []string
}{
	"jobs": {"jobs", "runs", []string{"paused", "failing", "late"}},
	"dags": {"DAGs", "waves", []string{"paused", "failing", "running"}},
}

// definitionState reads the --status of jobs or DAGs; other kinds have none.
func (f *getFlags) definitionState(kind string) (string, error) {
	known := definitionStates[kind]
	switch {
	case len(known.states) == 0 || len(f.statuses) == 0:
		return "", nil
	case len(f.statuses) > 1:
		return "", usage("--status: %s are listed by one of %s at a time", known.title, strings.Join(known.states, ", "))
	case f.statuses[0] == engine.StatusFailed.String():
		return "failing", nil
	case !slices.Contains(known.states, f.statuses[0]):
		return "", usage("--status: %s are one of %s (failing or failed: the last of their %s failed), not %q; the statuses of %[3]s are for `tidewheel get %[3]s`",
			known.title, strings.Join(known.states, ", "), known.of, f.statuses[0])
	}
	return f.statuses[0], nil
}

// runStatuses checks the --status of runs and waves.
func (f *getFlags) runStatuses() error {
	for _, status := range f.statuses {
		if _, err := engine.ParseStatus(status); err != nil {
			return usage("--status: %w", err)
		}
	}
	return nil
}

// explainNoRuns reports why a list of runs is empty where the job or the DAG it asks for is not there, and never was: a
// name that is deleted keeps its runs.
func (c *cli) explainNoRuns(ctx context.Context, api *client.Client, flags getFlags) error {
	for _, asked := range []struct {
		kind, name string
		filter     client.RunFilter
		exists     func() error
	}{
		{"job", flags.job, client.RunFilter{Job: flags.job}, func() error { _, err := api.Job(ctx, flags.job); return err }},
		{"DAG", flags.dag, client.RunFilter{DAG: flags.dag}, func() error { _, err := api.DAG(ctx, flags.dag); return err }},
	} {
		if asked.name == "" {
			continue
		}
		err := asked.exists()
		if err == nil {
			continue
		}
		if !absent(err) {
			return err
		}
		asked.filter.Limit = 1
		var earlier wire.List[wire.Run]
		if earlier, err = api.Runs(ctx, asked.filter); err != nil {
			return err
		}
		if len(earlier.Items) == 0 {
			return missing(asked.kind, asked.name)
		}
	}
	return c.explainNoUser(ctx, api, flags.user)
}

// explainNoUser reports that a user does not exist. It says nothing to a caller that may not see users, or whose token is
// not a user's.
func (c *cli) explainNoUser(ctx context.Context, api *client.Client, name string) error {
	if knowsUser(ctx, api, name) {
		return nil
	}
	earlier, err := api.Runs(ctx, client.RunFilter{By: name, Page: client.Page{Limit: 1}})
	if err != nil || len(earlier.Items) > 0 {
		return err
	}
	return &outcomeError{fmt.Sprintf("there is no user %q, and no run was triggered by one: `tidewheel user ls` lists the users", name)}
}

// knowsUser reports whether a user exists, of whom name may be a token. It does so too where the caller cannot find out, or names none.
func knowsUser(ctx context.Context, api *client.Client, name string) bool {
	if name == "" {
		return true
	}
	user, _, _ := strings.Cut(name, "/")
	_, err := api.User(ctx, user)
	return !absent(err)
}

// explainNoLetters is explainNoRuns for a list of dead letters, whose --job names a job or a DAG.
func (c *cli) explainNoLetters(ctx context.Context, api *client.Client, name string) error {
	if name == "" {
		return nil
	}
	owner, _, _ := strings.Cut(name, "/")
	if _, err := api.Job(ctx, owner); !absent(err) {
		return err
	}
	if _, err := api.DAG(ctx, owner); !absent(err) {
		return err
	}
	for _, filter := range []client.RunFilter{{Job: owner}, {DAG: owner}} {
		filter.Limit = 1
		earlier, err := api.Runs(ctx, filter)
		if err != nil || len(earlier.Items) > 0 {
			return err
		}
	}
	return missing("job and no DAG", owner)
}

func missing(kind, name string) error {
	return &outcomeError{"there is no " + kind + " \"" + name + "\", and there are no runs of an earlier one: `tidewheel get jobs` and `tidewheel get dags` list the names"}
}
