package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) describeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "describe [job|dag|run|wave|binary] NAME", Short: "Show the details of a job, DAG, run, wave or binary",
		Example: "  tidewheel describe nightly-report\n  tidewheel describe run h5zq3x7rk2mnp4ab-s1767229200000",
		Args:    cobra.RangeArgs(1, 2), ValidArgsFunction: c.completeAfterKind(namedJob, namedDAG, namedRun, namedWave, namedBinary),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return c.showNamed(cmd.Context(), args[0])
			}
			kind, err := getKind(args[0])
			if err != nil {
				return usage("%q cannot be described: use job, dag, run, wave or binary", args[0])
			}
			switch kind {
			case "jobs":
				return c.showJob(cmd.Context(), args[1])
			case "dags":
				return c.showDAG(cmd.Context(), args[1])
			case "waves":
				return c.showWave(cmd.Context(), args[1])
			case "runs":
				return c.showRun(cmd.Context(), args[1])
			case "binaries":
				return c.showBinary(cmd.Context(), args[1])
			}
			return usage("%s cannot be described: use job, dag, run, wave or binary", kind)
		},
	}
}

// showNamed shows what a name or an id is of: a job or a DAG, a run or a wave, or a binary.
func (c *cli) showNamed(ctx context.Context, word string) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	kind, name, unknown := c.which(ctx, api, word)
	switch {
	case unknown == nil && kind == namedDAG:
		return c.showDAG(ctx, name)
	case unknown == nil:
		return c.showJob(ctx, name)
	case !isRefused(unknown):
		return unknown
	}
	run, wave, err := c.runOrWave(ctx, api, word)
	switch {
	case err == nil && wave != "":
		return c.showWave(ctx, wave)
	case err == nil:
		return c.showRun(ctx, run)
	case !isRefused(err):
		return err
	}
	if _, err := api.Binary(ctx, word); absent(err) {
		return &refusedError{fmt.Sprintf("there is no job, DAG, run, wave or binary %q", word)}
	}
	return c.showBinary(ctx, word)
}

// describedJob is what describe says of a job with -o json.
type describedJob struct {
	wire.Job
	Next []wire.Slot `json:"next"`
	Runs []wire.Run  `json:"runs"`
}

func (c *cli) showJob(ctx context.Context, name string) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	job, err := api.Job(ctx, name)
	if err != nil {
		return err
	}
	preview, err := api.NextSlots(ctx, name, time.Time{}, 5)
	if err != nil {
		return err
	}
	runs, err := api.Runs(ctx, client.RunFilter{Job: name, Page: client.Page{Limit: 10}})
	if err != nil {
		return err
	}
	var failed error
	err = c.print(describedJob{job, preview.Items, runs.Items}, func(w io.Writer) { failed = c.describeJob(w, &job, &preview, runs.Items) })
	if failed != nil {
		return failed
	}
	return err
}

// describedDAG is what describe says of a DAG with -o json.
type describedDAG struct {
	wire.DAG
	Next  []wire.DAGSlot `json:"next"`
	Waves []wire.Wave    `json:"waves"`
}

func (c *cli) showDAG(ctx context.Context, name string) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	dag, err := api.DAG(ctx, name)
	if err != nil {
		return err
	}
	preview, err := api.NextDAGSlots(ctx, name, time.Time{}, 5)
	if err != nil {
		return err
	}
	waves, err := api.Waves(ctx, client.WaveFilter{DAG: name, Page: client.Page{Limit: 10}})
	if err != nil {
		return err
	}
	var failed error
	err = c.print(describedDAG{dag, preview.Items, waves.Items}, func(w io.Writer) { failed = c.describeDAG(w, &dag, &preview, waves.Items) })
	if failed != nil {
		return failed
	}
	return err
}

func (c *cli) showWave(ctx context.Context, id string) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	if id, err = c.waveID(ctx, api, id); err != nil {
		return err
	}
	wave, err := api.Wave(ctx, id)
	if err != nil {
		return err
	}
	return c.print(wave, func(w io.Writer) { c.describeWave(w, &wave) })
}

// describedRun is what describe says of a run with -o json.
type describedRun struct {
	wire.Run
	Effects []wire.Effect `json:"effects,omitempty"`
}

func (c *cli) showRun(ctx context.Context, id string) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	if id, err = c.runID(ctx, api, id); err != nil {
		return err
	}
	run, err := api.Run(ctx, id)
	if err != nil {
		return err
	}
	described := describedRun{Run: run}
	for page := (client.Page{}); ; {
		effects, err := api.RunEffects(ctx, id, page)
		if err != nil {
			return err
		}
		described.Effects = append(described.Effects, effects.Items...)
		if page.Cursor = effects.Next; page.Cursor == "" {
			break
		}
	}
	return c.print(described, func(w io.Writer) { c.describeRun(w, &described) })
}

func (c *cli) showBinary(ctx context.Context, name string) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	binary, err := api.Binary(ctx, name)
	if err != nil {
		return err
	}
	return c.print(binary, func(w io.Writer) { c.describeBinary(w, &binary) })
}
