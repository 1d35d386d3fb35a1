package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
)

// change does something to a job or a DAG, and returns what it is afterwards.
type change func(ctx context.Context, api *client.Client, name string) (any, error)

func (c *cli) pauseCommand() *cobra.Command {
	var reason string
	cmd := c.changeCommand("pause", "Pause jobs and DAGs; running runs continue", "paused",
		func(ctx context.Context, api *client.Client, name string) (any, error) {
			return api.PauseJob(ctx, name, reason)
		},
		func(ctx context.Context, api *client.Client, name string) (any, error) {
			return api.PauseDAG(ctx, name, reason)
		})
	cmd.Flags().StringVar(&reason, "reason", "", "why, shown to those who find it paused")
	return cmd
}

func (c *cli) resumeCommand() *cobra.Command {
	return c.changeCommand("resume", "Resume paused jobs and DAGs", "active again",
		func(ctx context.Context, api *client.Client, name string) (any, error) {
			return api.ResumeJob(ctx, name)
		},
		func(ctx context.Context, api *client.Client, name string) (any, error) {
			return api.ResumeDAG(ctx, name)
		})
}

func (c *cli) deleteCommand() *cobra.Command {
	cmd := c.changeCommand("delete", "Delete jobs and DAGs; their history stays", "deleted",
		func(ctx context.Context, api *client.Client, name string) (any, error) {
			return map[string]any{"name": name, "deleted": true}, api.DeleteJob(ctx, name, 0)
		},
		func(ctx context.Context, api *client.Client, name string) (any, error) {
			return map[string]any{"name": name, "deleted": true}, api.DeleteDAG(ctx, name, 0)
		})
	return c.asksFirst(cmd, "Delete %s? The history stays.")
}

// changeCommand is a command that does the same to each job or DAG that it names.
func (c *cli) changeCommand(word, short, done string, job, dag change) *cobra.Command {
	return &cobra.Command{
		Use: word + " [job|dag] NAME...", Short: short, Args: cobra.MinimumNArgs(1),
		Example:           fmt.Sprintf("  tidewheel %[1]s nightly-report\n  tidewheel %[1]s dag etl", word),
		ValidArgsFunction: c.completeAfterKind(namedJob, namedDAG),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, named, err := c.definitionsNamed(cmd.Context(), word, args)
			if err != nil {
				return err
			}
			for _, one := range named {
				noun, apply := "Job", job
				if one.kind == namedDAG {
					noun, apply = "DAG", dag
				}
				changed, err := apply(cmd.Context(), api, one.name)
				if err != nil {
					return err
				}
				if err := c.print(changed, func(w io.Writer) { fmt.Fprintf(w, "%s %s is %s.\n", noun, one.name, done) }); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// definitionName is a job or a DAG as the command line names it.
type definitionName struct {
	kind namedKind
	name string
}

// definitionsNamed reads the names of jobs and DAGs. The first word may say of which kind they are; otherwise each name says so
// itself (job/NAME), or the server knows it.
func (c *cli) definitionsNamed(ctx context.Context, word string, args []string) (*client.Client, []definitionName, error) {
	kind, err := getKind(args[0])
	stated := err == nil && len(args) > 1
	if stated && kind != "jobs" && kind != "dags" {
		return nil, nil, usage("this command takes jobs and DAGs: write `tidewheel %s NAME`, `tidewheel %[1]s job NAME` or `tidewheel %[1]s dag NAME`", word)
	}
	api, err := c.client()
	if err != nil {
		return nil, nil, err
	}
	var named []definitionName
	if stated {
		of := namedJob
		if kind == "dags" {
			of = namedDAG
		}
		for _, name := range args[1:] {
			named = append(named, definitionName{of, name})
		}
		return api, named, nil
	}
	for _, name := range args { // all are known before the first is changed
		kind, name, err := c.which(ctx, api, name)
		if err != nil {
			return nil, nil, err
		}
		named = append(named, definitionName{kind, name})
	}
	return api, named, nil
}
