package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
)

func (c *cli) pauseCommand() *cobra.Command {
	return c.jobChange("pause", "Stop the schedule of jobs; what runs goes on", "paused",
		func(ctx context.Context, api *client.Client, name string) (any, error) {
			return api.PauseJob(ctx, name)
		})
}

func (c *cli) resumeCommand() *cobra.Command {
	return c.jobChange("resume", "Let the schedule of paused jobs go on", "active again",
		func(ctx context.Context, api *client.Client, name string) (any, error) {
			return api.ResumeJob(ctx, name)
		})
}

func (c *cli) deleteCommand() *cobra.Command {
	return c.jobChange("delete", "Delete jobs; their history stays", "deleted",
		func(ctx context.Context, api *client.Client, name string) (any, error) {
			return map[string]any{"name": name, "deleted": true}, api.DeleteJob(ctx, name, 0)
		})
}

// jobChange is a command that does the same to each job it names.
func (c *cli) jobChange(word, short, done string, change func(context.Context, *client.Client, string) (any, error)) *cobra.Command {
	return &cobra.Command{
		Use: word + " job NAME...", Short: short, Args: cobra.MinimumNArgs(2),
		Example: fmt.Sprintf("  tidewheel %s job nightly-report", word), ValidArgs: []string{"job"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if kind, err := getKind(args[0]); err != nil || kind != "jobs" {
				return usage("this command takes jobs: write `tidewheel %s job NAME`", word)
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			for _, name := range args[1:] {
				changed, err := change(cmd.Context(), api, name)
				if err != nil {
					return err
				}
				if err := c.print(changed, func(w io.Writer) { fmt.Fprintf(w, "Job %s is %s.\n", name, done) }); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
