package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use: "cancel RUN|WAVE...", Short: "Cancel runs or waves", Args: cobra.MinimumNArgs(1), ValidArgsFunction: c.complete(anyNumber, namedRun, namedWave),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			for _, id := range args {
				if err := c.cancelOne(cmd.Context(), api, id); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func (c *cli) cancelOne(ctx context.Context, api *client.Client, word string) error {
	id, waveID, err := c.runOrWave(ctx, api, word)
	if err != nil {
		return err
	}
	if waveID == "" {
		run, err := api.CancelRun(ctx, id)
		if err != nil {
			return err
		}
		return c.print(run, func(w io.Writer) { fmt.Fprintf(w, "Run %s is being cancelled.\n", id) })
	}
	wave, err := api.CancelWave(ctx, waveID)
	if err != nil {
		return err
	}
	return c.print(wave, func(w io.Writer) { fmt.Fprintf(w, "Wave %s is being cancelled.\n", waveID) })
}

func (c *cli) retryCommand() *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use: "retry RUN|WAVE", Short: "Retry a failed run, or resume a wave", Args: cobra.ExactArgs(1), ValidArgsFunction: c.complete(1, namedRun, namedWave),
		Long: `Try a run once more that ended badly. A wave that failed or was cancelled goes on in place: what succeeded stays, the
rest is run again; the run of a task is tried again with all else that failed in its wave, once that has ended.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			id, wave, err := c.runOrWave(cmd.Context(), api, args[0])
			if err != nil {
				return err
			}
			if wave != "" {
				return c.resumeWave(cmd.Context(), api, wave, wait)
			}
			run, err := api.Run(cmd.Context(), id)
			switch {
			case err != nil:
				return err
			case run.Task != "":
				return c.resumeWave(cmd.Context(), api, run.Wave, wait)
			}
			return c.retryRun(cmd.Context(), api, id, wait)
		},
	}
	cmd.Flags().BoolVarP(&wait, "wait", "w", false, "wait until it ends")
	return cmd
}

func (c *cli) retryRun(ctx context.Context, api *client.Client, id string, wait bool) error {
	run, err := api.RetryRun(ctx, id)
	if err != nil {
		return err
	}
	if !wait {
		return c.print(run, func(w io.Writer) { fmt.Fprintf(w, "Run %s is retried.\n", run.ID) })
	}
	before := run.Attempt
	for run.Attempt == before { // the answer is the run as it was before
		if err := pause(ctx, awaitEvery); err != nil {
			return err
		}
		if run, err = api.Run(ctx, id); err != nil {
			return err
		}
	}
	return c.await(ctx, api, run, before)
}

func (c *cli) resumeWave(ctx context.Context, api *client.Client, id string, wait bool) error {
	before, err := api.Wave(ctx, id)
	if err != nil {
		return err
	}
	wave, err := api.ResumeWave(ctx, id)
	if err != nil {
		return err
	}
	if !wait {
		return c.print(wave, func(w io.Writer) { fmt.Fprintf(w, "Wave %s is resumed.\n", id) })
	}
	told := map[string]bool{}
	for i := range before.Tasks {
		told[before.Tasks[i].Name] = before.Tasks[i].State == "succeeded"
	}
	return c.awaitWave(ctx, api, id, told, before.Resumed+1)
}

func (c *cli) markCommand() *cobra.Command {
	return &cobra.Command{
		Use: "mark WAVE TASK succeeded|failed|skipped", Short: "Mark a task of a wave as succeeded, skipped or failed without running it",
		Long:    `Mark a task that waits, or that did not succeed in a wave that has ended. The task is not run, and the wave continues.`,
		Example: "  tidewheel mark h5zq3x7rk2mnp4ab-w7 join succeeded", Args: cobra.ExactArgs(3), ValidArgsFunction: c.complete(1, namedWave),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			if args[0], err = c.waveID(cmd.Context(), api, args[0]); err != nil {
				return err
			}
			wave, err := api.MarkTask(cmd.Context(), args[0], wire.MarkRequest{Task: args[1], As: args[2]})
			if err != nil {
				return err
			}
			return c.print(wave, func(w io.Writer) { fmt.Fprintf(w, "Task %s of wave %s is marked as %s.\n", args[1], args[0], args[2]) })
		},
	}
}
