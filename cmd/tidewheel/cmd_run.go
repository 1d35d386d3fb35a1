package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

func (c *cli) runCommand() *cobra.Command {
	var payload, key, at string
	var args []string
	var wait bool
	cmd := &cobra.Command{
		Use:   "run JOB|DAG",
		Short: "Run a job, or start a wave of a DAG, now",
		Long: `Run a job or start a wave of a DAG now, whatever its schedule. With --wait the run is followed to its end: its output appears on standard output, and the exit
status is 0 if it succeeded and 1 if it did not. Asked twice with one --key, there is one run.
A wave is followed task by task, as each ends; with --at it begins then, or as soon after as no other wave of its DAG is open. Where a job and a DAG have one name, write job/NAME or dag/NAME.`,
		Example: `  tidewheel run nightly-report --wait
  tidewheel run nightly-report --payload '{"shops": [3]}' --arg LEVEL=debug
  tidewheel run nightly-report --payload @shops.json --key order-4711 --at 2026-12-31T23:59:59Z`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: c.complete(1, namedJob, namedDAG),
		RunE: func(cmd *cobra.Command, names []string) error {
			request, err := c.runRequest(payload, args, at)
			if err != nil {
				return err
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			kind, name, err := c.which(cmd.Context(), api, names[0])
			if err != nil {
				return err
			}
			if kind == namedDAG {
				return c.runDAG(cmd.Context(), api, name, request, key, wait)
			}
			run, err := api.RunJob(cmd.Context(), name, request, key)
			if err != nil {
				return err
			}
			if !wait {
				return c.print(run, func(w io.Writer) {
					fmt.Fprintln(w, run.ID)
					fmt.Fprintf(c.err, "Run %s is %s: follow it with `tidewheel logs %s -f`.\n", run.ID, run.Status, run.ID)
				})
			}
			return c.await(cmd.Context(), api, run, 0)
		},
	}
	cmd.Flags().StringVar(&payload, "payload", "", "JSON for the program's standard input, or @FILE")
	cmd.Flags().StringArrayVar(&args, "arg", nil, "K=V for the program's environment; may be repeated")
	cmd.Flags().StringVar(&key, "key", "", "idempotency key: the same key is the same run or wave")
	cmd.Flags().StringVar(&at, "at", "", "when: a time, or how long from now (10m)")
	cmd.Flags().BoolVarP(&wait, "wait", "w", false, "wait until the run or wave ends")
	return cmd
}

func (c *cli) runDAG(ctx context.Context, api *client.Client, name string, request wire.RunRequest, key string, wait bool) error {
	wave, err := api.RunDAG(ctx, name, wire.WaveRequest(request), key)
	if err != nil {
		return err
	}
	if wait {
		return c.awaitWave(ctx, api, wave.ID, map[string]bool{}, 0)
	}
	return c.print(wave, func(w io.Writer) {
		fmt.Fprintln(w, wave.ID)
		fmt.Fprintf(c.err, "Wave %s is %s: see it with `tidewheel describe wave %s`.\n", wave.ID, wave.Status, wave.ID)
	})
}

func (c *cli) runRequest(payload string, args []string, at string) (wire.RunRequest, error) {
	var request wire.RunRequest
	if file, found := strings.CutPrefix(payload, "@"); found {
		var text []byte
		var err error
		if file == "-" {
			text, err = io.ReadAll(c.in)
		} else {
			text, err = os.ReadFile(file)
		}
		if err != nil {
			return request, usage("--payload: %w", err)
		}
		payload = string(text)
	}
	if payload = strings.TrimSpace(payload); payload != "" {
		if !json.Valid([]byte(payload)) {
			return request, usage("--payload is not JSON: a text needs quotes, as in '\"text\"'")
		}
		request.Payload = json.RawMessage(payload)
	}
	for _, arg := range args {
		name, value, found := strings.Cut(arg, "=")
		if !found || name == "" {
			return request, usage("--arg %q: write NAME=VALUE", arg)
		}
		if request.Args == nil {
			request.Args = map[string]string{}
		}
		request.Args[name] = value
	}
	when, err := parseWhen(at, c.now())
	if err != nil {
		return request, usage("--at: %w", err)
	}
	request.At = when
	return request, nil
}

// await follows a run to its end, through all attempts after the one given, and makes its verdict the exit status. What
// is asked of the server is asked again while it is unavailable.
func (c *cli) await(ctx context.Context, api *client.Client, run wire.Run, attempt int) error {
	fmt.Fprintf(c.err, "Run %s is %s.\n", run.ID, run.Status)
	output := c.out
	if c.output != "table" {
		output = c.err // standard output is for the run itself
	}
	for !run.Status.Terminal() || run.Attempt > attempt { // attempts may be over before they can be followed
		if run.Attempt > attempt {
			attempt++
			if attempt > 1 {
				fmt.Fprintf(c.err, "Attempt %d.\n", attempt)
			}
			if err := c.follow(ctx, api, run.ID, attempt, output, false); err != nil {
				return err
			}
		} else if err := pause(ctx, awaitEvery); err != nil {
			return err
		}
		read, err := api.Run(ctx, run.ID)
		switch {
		case errors.Is(err, client.ErrUnreachable):
			fmt.Fprintln(c.err, "The server does not answer; trying again.")
			if err := pause(ctx, time.Second); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		run = read
	}
	if err := c.print(run, func(io.Writer) {}); err != nil {
		return err
	}
	if run.Status == engine.StatusSucceeded {
		fmt.Fprintf(c.err, "Run %s succeeded after %s.\n", run.ID, c.took(&run))
		return nil
	}
	reason := run.Error
	if reason == "" {
		reason = run.Reason
	}
	if reason != "" {
		reason = ": " + reason
	}
	return &outcomeError{fmt.Sprintf("run %s ended as %s%s", run.ID, c.runStatus(&run), reason)}
}

// awaitEvery is how often a run that does not run yet is looked at.
const awaitEvery = 100 * time.Millisecond

func pause(ctx context.Context, span time.Duration) error {
	select {
	case <-time.After(span):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
