package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/engine"
)

const (
	// completionPatience is how long a shell waits for names: a user presses a key and looks.
	completionPatience = 2 * time.Second
	// completionLimit is how many names of each kind are offered.
	completionLimit = 100
	// anyNumber is the number of arguments of a command that takes as many as there are.
	anyNumber = 1 << 10
)

type completion = func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective)

// complete offers names of these kinds for the first arguments of a command.
func (c *cli) complete(arguments int, kinds ...namedKind) completion {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= arguments {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.names(cmd.Context(), word, kinds), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeAfterKind offers names for a command whose first argument may say of which kind they are.
func (c *cli) completeAfterKind(kinds ...namedKind) completion {
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		of, offered := kinds, []cobra.Completion{}
		for _, kind := range kinds {
			switch {
			case len(args) == 0 && word != "" && strings.HasPrefix(string(kind), word):
				offered = append(offered, string(kind))
			case len(args) > 0 && args[0] == string(kind):
				of = []namedKind{kind}
			}
		}
		return append(offered, c.names(cmd.Context(), word, of)...), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeKinds offers what can be listed, and then names of it.
func (c *cli) completeKinds(kinds []string) completion {
	named := map[string]namedKind{"jobs": namedJob, "dags": namedDAG, "runs": namedRun, "waves": namedWave, "binaries": namedBinary}
	return func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return kinds, cobra.ShellCompDirectiveNoFileComp
		}
		kind, err := getKind(args[0])
		if err != nil || len(args) > 1 || named[kind] == "" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.names(cmd.Context(), word, []namedKind{named[kind]}), cobra.ShellCompDirectiveNoFileComp
	}
}

func (c *cli) completeFlag(cmd *cobra.Command, flag string, kind namedKind) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return c.names(cmd.Context(), word, []namedKind{kind}), cobra.ShellCompDirectiveNoFileComp
	})
}

func completeStatuses(*cobra.Command, []string, string) (statuses []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, status := range engine.Statuses() {
		statuses = append(statuses, status.String())
	}
	return append(statuses, "paused", "failing", "late"), cobra.ShellCompDirectiveNoFileComp
}

// names asks the server for names that begin with a word. A server that does not answer has none: a shell that completes must not
// print errors.
func (c *cli) names(ctx context.Context, word string, kinds []namedKind) []cobra.Completion {
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	if c.settle() != nil { // the flags of the command that is being completed are read after those of the call
		return nil
	}
	api, err := c.client()
	if err != nil {
		return nil
	}
	var offered []cobra.Completion
	for _, kind := range kinds {
		for _, name := range namesOf(ctx, api, kind, word) {
			if strings.HasPrefix(name, word) {
				offered = append(offered, name)
			}
		}
	}
	return offered
}

// namesOf lists names of a kind, each with a description after a tab, as shells show it.
func namesOf(ctx context.Context, api *client.Client, kind namedKind, word string) (names []string) {
	page := client.Page{Limit: completionLimit}
	switch kind {
	case namedJob:
		jobs, _ := api.Jobs(ctx, client.DefinitionFilter{Text: word, Page: page})
		for i := range jobs.Items {
			names = append(names, jobs.Items[i].Name+"\tjob "+jobs.Items[i].Schedule)
		}
	case namedDAG:
		dags, _ := api.DAGs(ctx, client.DefinitionFilter{Text: word, Page: page})
		for i := range dags.Items {
			names = append(names, dags.Items[i].Name+"\tDAG")
		}
	case namedRun:
		runs, _ := api.Runs(ctx, client.RunFilter{Text: word, Page: page})
		for i := range runs.Items {
			names = append(names, runs.Items[i].ID+"\t"+runLabel(&runs.Items[i])+" "+runs.Items[i].Status.String())
		}
	case namedWave:
		waves, _ := api.Waves(ctx, client.WaveFilter{Page: page})
		for i := range waves.Items {
			names = append(names, waves.Items[i].ID+"\t"+waves.Items[i].DAG+" "+waves.Items[i].Status.String())
		}
	case namedBinary:
		binaries, _ := api.Binaries(ctx, page)
		for i := range binaries.Items {
			names = append(names, binaries.Items[i].Name+"\tbinary")
		}
	}
	return names
}
