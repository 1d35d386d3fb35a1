package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) historyCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "history JOB|DAG [GENERATION [GENERATION]]", Short: "List the generations of a job or DAG, or compare two of them",
		Long: `List who changed a definition, when and why, the newest change first. With a generation, show what has changed since it; with two, how the
second differs from the first.`,
		Example: "  tidewheel history nightly-report\n  tidewheel history nightly-report 3\n  tidewheel history nightly-report 3 4",
		Args:    cobra.RangeArgs(1, 3), ValidArgsFunction: c.complete(1, namedJob, namedDAG),
		RunE: func(cmd *cobra.Command, args []string) error {
			var generations []int64
			for _, word := range args[1:] {
				n, err := generation(word)
				if err != nil {
					return err
				}
				generations = append(generations, n)
			}
			if len(generations) > 0 && cmd.Flags().Changed("limit") {
				return usage("--limit is for the list of generations: leave it out, or name no generation")
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			kind, name, err := c.which(cmd.Context(), api, args[0])
			if err != nil {
				return err
			}
			if len(generations) == 0 {
				return c.listGenerations(cmd.Context(), api, kind, name, limit)
			}
			return c.compareGenerations(cmd.Context(), api, kind, name, generations)
		},
	}
	cmd.Flags().IntVar(&limit, "limit", defaultLimit, "how many at most; 0 is all")
	return cmd
}

func generation(word string) (int64, error) {
	n, err := strconv.ParseInt(word, 10, 64)
	if err != nil || n < 1 {
		return 0, usage("%q is no generation: `tidewheel history NAME` lists their numbers", word)
	}
	return n, nil
}

func (c *cli) listGenerations(ctx context.Context, api *client.Client, kind namedKind, name string, limit int) error {
	if kind == namedDAG {
		return listHeads(c, limit, func(page client.Page) (wire.List[wire.DAGGeneration], error) {
			return api.DAGGenerations(ctx, name, page)
		},
			func(g *wire.DAGGeneration) *wire.GenerationHead { return &g.GenerationHead })
	}
	return listHeads(c, limit, func(page client.Page) (wire.List[wire.Generation], error) { return api.Generations(ctx, name, page) },
		func(g *wire.Generation) *wire.GenerationHead { return &g.GenerationHead })
}

func listHeads[G any](c *cli, limit int, page func(client.Page) (wire.List[G], error), head func(*G) *wire.GenerationHead) error {
	return listAll(c, limit, page, func(w io.Writer, generations []G) {
		t := newTable(w, "GENERATION", "WHEN", "BY", "MESSAGE")
		for i := range generations {
			one := head(&generations[i])
			t.row(one.Generation, stamp(one.At), one.By, one.Message)
		}
		t.flush()
	})
}

// compareGenerations shows how two generations differ, or a generation and the present one.
func (c *cli) compareGenerations(ctx context.Context, api *client.Client, kind namedKind, name string, generations []int64) error {
	compare := api.CompareGenerations
	if kind == namedDAG {
		compare = api.CompareDAGGenerations
	}
	if len(generations) == 1 {
		present, err := presentGeneration(ctx, api, kind, name)
		if err != nil {
			return err
		}
		generations = append(generations, present)
	}
	difference, err := compare(ctx, name, generations[0], generations[1])
	if err != nil {
		return err
	}
	return c.print(difference, func(w io.Writer) {
		if difference.Diff == "" {
			fmt.Fprintln(w, "No differences.")
		}
		fmt.Fprint(w, difference.Diff)
	})
}

func presentGeneration(ctx context.Context, api *client.Client, kind namedKind, name string) (int64, error) {
	if kind == namedDAG {
		dag, err := api.DAG(ctx, name)
		return dag.Generation, err
	}
	job, err := api.Job(ctx, name)
	return job.Generation, err
}

func (c *cli) revertCommand() *cobra.Command {
	var message string
	cmd := &cobra.Command{
		Use: "revert JOB|DAG GENERATION", Short: "Make an earlier generation of a job or DAG the present one",
		Long: `Restore an earlier generation. It is an edit like any other: it makes a new generation, and what was there stays in the history.`,
		Args: cobra.ExactArgs(2), ValidArgsFunction: c.complete(1, namedJob, namedDAG),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := generation(args[1])
			if err != nil {
				return err
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			kind, name, err := c.which(cmd.Context(), api, args[0])
			if err != nil {
				return err
			}
			request := wire.RestoreRequest{Generation: n, Message: message}
			if kind == namedDAG {
				dag, err := api.RestoreDAG(cmd.Context(), name, request)
				if err != nil {
					return err
				}
				return c.print(dag, func(w io.Writer) {
					fmt.Fprintf(w, "DAG %s is as in generation %d; this is generation %d.\n", name, n, dag.Generation)
				})
			}
			job, err := api.RestoreJob(cmd.Context(), name, request)
			if err != nil {
				return err
			}
			return c.print(job, func(w io.Writer) {
				fmt.Fprintf(w, "Job %s is as in generation %d; this is generation %d.\n", name, n, job.Generation)
			})
		},
	}
	cmd.Flags().StringVarP(&message, "message", "m", "", "why, for the history")
	return cmd
}
