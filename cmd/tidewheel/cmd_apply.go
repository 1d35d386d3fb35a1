package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) applyCommand() *cobra.Command {
	var paths []string
	var options client.ApplyOptions
	var yes *bool
	cmd := &cobra.Command{
		Use: "apply -f FILE|DIR|-", Short: "Create or update jobs and DAGs from files",
		Long: `Create and change jobs and DAGs as files define them. Nothing is done unless every document is without fault. Applied twice it
changes nothing the second time. --prune deletes the jobs and DAGs of the namespace that no document
names.`,
		Example: "  tidewheel apply -f jobs.yaml\n  tidewheel apply -f jobs/ --dry-run --prune",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			files, err := c.readSources(paths)
			if err != nil {
				return err
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			sent := make([]client.File, len(files))
			for i, file := range files {
				sent[i] = client.File{Name: file.Name, Data: file.Text}
			}
			if options.Prune && !options.DryRun && !*yes {
				if err := c.confirmPrune(cmd.Context(), api, sent, options); err != nil {
					return err
				}
			}
			applied, err := api.Apply(cmd.Context(), sent, options)
			if err != nil {
				return err
			}
			return c.print(applied, func(w io.Writer) { printApplied(w, applied) })
		},
	}
	cmd.Flags().StringArrayVarP(&paths, "file", "f", nil, "file or folder, - for standard input; may be repeated")
	cmd.Flags().BoolVar(&options.DryRun, "dry-run", false, "only print what would be done")
	cmd.Flags().BoolVar(&options.Prune, "prune", false, "delete the jobs and DAGs that no document names")
	cmd.Flags().StringVarP(&options.Message, "message", "m", "", "why, for the history of the definitions")
	yes = yesFlag(cmd)
	return cmd
}

// confirmPrune asks before definitions are deleted because no document names them.
func (c *cli) confirmPrune(ctx context.Context, api *client.Client, files []client.File, options client.ApplyOptions) error {
	if !c.asks() {
		return nil
	}
	options.DryRun = true
	planned, err := api.Apply(ctx, files, options)
	if err != nil {
		return err
	}
	var deleted []string
	for _, item := range planned.Items {
		if item.Change == "deleted" {
			deleted = append(deleted, item.Kind+" "+item.Name)
		}
	}
	if len(deleted) == 0 {
		return nil
	}
	return c.confirm(ctx, "Delete "+strings.Join(deleted, ", ")+"?")
}

func printApplied(w io.Writer, applied wire.Applied) {
	if len(applied.Items) == 0 {
		fmt.Fprintln(w, "There is nothing to do.")
	}
	note := ""
	if applied.DryRun {
		note = " (dry run)"
	}
	for _, item := range applied.Items {
		fmt.Fprintf(w, "%s %s %s%s\n", item.Kind, item.Name, item.Change, note)
		for _, warning := range item.Warnings {
			fmt.Fprintf(w, "  warning: %s\n", warning)
		}
	}
}
