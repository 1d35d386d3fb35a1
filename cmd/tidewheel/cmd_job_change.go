package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
)

// change does something to a job or a DAG, and gives what it is afterwards.
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
	return c.changeCommand("delete", "Delete jobs and DAGs; their history stays", "deleted",
		func(ctx context.Context, api *client.Client, name string) (any, error) {
			return map[string]any{"name": name, "deleted": true}, api.DeleteJob(ctx, name, 0)
		},
		func(ctx context.Context, api *client.Client, name string) (any, error) {
			return map[string]any{"name": name, "deleted": true}, api.DeleteDAG(ctx, name, 0)
		})
}

// changeCommand is a command that does the same to each job, or each DAG, that it names.
func (c *cli) changeCommand(word, short, done string, job, dag change) *cobra.Command {
	return &cobra.Command{
		Use: word + " job|dag NAME...", Short: short, Args: cobra.MinimumNArgs(2),
		Example: fmt.Sprintf("  tidewheel %[1]s job nightly-report\n  tidewheel %[1]s dag etl", word), ValidArgs: []string{"job", "dag"},
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, err := getKind(args[0])
			noun, apply := "Job", job
			switch {
			case err == nil && kind == "jobs":
			case err == nil && kind == "dags":
				noun, apply = "DAG", dag
			default:
				return usage("this command takes jobs and DAGs: write `tidewheel %s job NAME` or `tidewheel %[1]s dag NAME`", word)
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			for _, name := range args[1:] {
				changed, err := apply(cmd.Context(), api, name)
				if err != nil {
					return err
				}
				if err := c.print(changed, func(w io.Writer) { fmt.Fprintf(w, "%s %s is %s.\n", noun, name, done) }); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
