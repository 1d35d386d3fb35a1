package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/spec"
)

func (c *cli) labelCommand() *cobra.Command {
	return &cobra.Command{
		Use: "label [job|dag] NAME... KEY=VALUE|KEY-...", Short: "Set and remove labels of jobs and DAGs", Args: cobra.MinimumNArgs(2),
		Example:           "  tidewheel label nightly-report team=finance\n  tidewheel label dag etl load team=finance old-",
		ValidArgsFunction: c.completeAfterKind(namedJob, namedDAG),
		RunE: func(cmd *cobra.Command, args []string) error {
			// A name of a definition may end with "-", so what follows the first label is one.
			first := slices.IndexFunc(args, func(word string) bool { return strings.Contains(word, "=") || strings.HasSuffix(word, "-") })
			if first < 1 {
				return usage("name what to label, and then its labels: `tidewheel label NAME key=value` sets one, key- removes it")
			}
			change, err := spec.ParseLabelChange(args[first:])
			if err != nil {
				return usage("%v", err)
			}
			api, named, err := c.definitionsNamed(cmd.Context(), "label", args[:first])
			if err != nil {
				return err
			}
			for _, one := range named {
				labelled, labels, err := label(cmd.Context(), api, one, wire.LabelChange{Set: change.Set, Remove: change.Remove})
				if err != nil {
					return err
				}
				words := "no labels"
				if len(labels) > 0 {
					words = spec.LabelChange{Set: labels}.Words()
				}
				if err := c.print(labelled, func(w io.Writer) { fmt.Fprintf(w, "%s has %s.\n", one.name, words) }); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func label(ctx context.Context, api *client.Client, one definitionName, change wire.LabelChange) (labelled any, labels map[string]string, err error) {
	if one.kind == namedDAG {
		dag, err := api.LabelDAG(ctx, one.name, change)
		return dag, dag.Spec.Labels, err
	}
	job, err := api.LabelJob(ctx, one.name, change)
	return job, job.Spec.Labels, err
}
