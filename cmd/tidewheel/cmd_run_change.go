package main

import (
	"context"
	"fmt"
	"io"
	"slices"

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
		Long: `Retry a run that failed. A wave that failed or was cancelled is resumed in place: what succeeded stays, the
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
	printed := map[string]bool{}
	for i := range before.Tasks {
		printed[before.Tasks[i].Name] = before.Tasks[i].State == "succeeded"
	}
	return c.awaitWave(ctx, api, id, printed, before.Resumed+1)
}

func (c *cli) clearCommand() *cobra.Command {
	var item int
	var alone, wait bool
	var payload string
	var variables []string
	cmd := &cobra.Command{
		Use: "clear WAVE TASK", Short: "Run a task of a wave that has ended again, and the tasks after it",
		Long: `Run a task of a wave that has ended again, in place and however it has ended. The tasks that come after it are decided again; all others keep
their results. With --alone the tasks after it stay as they are, too.`,
		Example: "  tidewheel clear h5zq3x7rk2mnp4ab-w7 join --wait\n  tidewheel clear h5zq3x7rk2mnp4ab-w7 shops --item 3 --alone",
		Args:    cobra.ExactArgs(2), ValidArgsFunction: c.complete(1, namedWave),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			if args[0], err = c.waveID(cmd.Context(), api, args[0]); err != nil {
				return err
			}
			given, err := c.runRequest(payload, variables, "")
			if err != nil {
				return err
			}
			request := wire.ClearRequest{Task: args[1], Alone: alone, Args: given.Args, Payload: given.Payload}
			if cmd.Flags().Changed("item") {
				request.Item = &item
			}
			before, err := api.Wave(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			wave, err := api.ClearTask(cmd.Context(), args[0], request)
			if err != nil {
				return err
			}
			if wait {
				return c.awaitWave(cmd.Context(), api, args[0], stays(before.Tasks, &request), before.Resumed+1)
			}
			return c.print(wave, func(w io.Writer) { fmt.Fprintf(w, "Task %s of wave %s runs again.\n", args[1], args[0]) })
		},
	}
	cmd.Flags().IntVar(&item, "item", 0, "only this item of a mapped task, from 0")
	cmd.Flags().BoolVar(&alone, "alone", false, "leave the tasks after it as they are")
	cmd.Flags().StringVar(&payload, "payload", "", "JSON for the program's standard input this time, or @FILE")
	cmd.Flags().StringArrayVar(&variables, "arg", nil, "K=V for the program's environment this time; may be repeated")
	cmd.Flags().BoolVarP(&wait, "wait", "w", false, "wait until the wave ends")
	return cmd
}

// stays returns the tasks that keep their results when one is cleared.
func stays(tasks []wire.WaveTask, cleared *wire.ClearRequest) map[string]bool {
	stay := map[string]bool{}
	for i := range tasks {
		stay[tasks[i].Name] = tasks[i].Name != cleared.Task
	}
	for found := !cleared.Alone; found; {
		found = false
		for i := range tasks {
			t := &tasks[i]
			if stay[t.Name] && slices.ContainsFunc(t.Needs, func(need string) bool { return !stay[need] }) {
				stay[t.Name], found = false, true
			}
		}
	}
	return stay
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
