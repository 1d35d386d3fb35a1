package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) backfillCommand() *cobra.Command {
	var from, to string
	var dryRun bool
	cmd := &cobra.Command{
		Use: "backfill JOB|DAG --from T --to T", Short: "Run past slots that have no run yet",
		Long: `Run the slots of [from, to) that have no run yet, one after the other. Times without a zone are UTC. --dry-run shows
what would be run. Of a DAG each wave has one slot of every root, as the schedule would have made it.`,
		Example: "  tidewheel backfill nightly-report --from 2026-11-01 --to 2026-11-08 --dry-run",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: c.complete(1, namedJob, namedDAG),
		RunE: func(cmd *cobra.Command, args []string) error {
			request := wire.BackfillRequest{DryRun: dryRun}
			for _, bound := range []struct {
				flag, text string
				to         *time.Time
			}{{"--from", from, &request.From}, {"--to", to, &request.To}} {
				at, err := c.pastInstant(bound.text)
				if err != nil {
					return usage("%s: %w", bound.flag, err)
				}
				*bound.to = at
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			kind, name, err := c.which(cmd.Context(), api, args[0])
			if err != nil {
				return err
			}
			if kind == namedDAG {
				return c.backfillDAG(cmd.Context(), api, name, request)
			}
			plan, err := api.Backfill(cmd.Context(), name, request)
			if err != nil {
				return err
			}
			return c.print(plan, func(w io.Writer) {
				t := newTable(w, "SLOT", "RUN", "STATUS")
				for _, slot := range plan.Items {
					status := slot.Status
					if slot.Run == "" {
						status = "new"
					}
					t.row(stamp(slot.Slot), slot.Run, status)
				}
				t.flush()
				verb := "are queued"
				if dryRun {
					verb = "would be made"
				}
				fmt.Fprintf(w, "%s in the range, %s %s.\n", count(len(plan.Items), "slot"), count(plan.New, "new run"), verb)
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the first instant of the range: a time, or how long ago (24h)")
	cmd.Flags().StringVar(&to, "to", "", "the first instant after the range; now if absent")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only print the plan")
	_ = cmd.MarkFlagRequired("from")
	return cmd
}

func (c *cli) backfillDAG(ctx context.Context, api *client.Client, name string, request wire.BackfillRequest) error {
	plan, err := api.BackfillDAG(ctx, name, request)
	if err != nil {
		return err
	}
	return c.print(plan, func(w io.Writer) {
		t := newTable(w, "SLOT", "ROOTS", "WAVE", "STATUS")
		for i := range plan.Items {
			one := &plan.Items[i]
			var roots []string
			for _, root := range slices.Sorted(maps.Keys(one.Slots)) {
				roots = append(roots, root+"="+one.Slots[root].UTC().Format("15:04:05"))
			}
			status := one.Status
			if one.Wave == "" {
				status = "new"
			}
			t.row(stamp(one.Slot), strings.Join(roots, " "), one.Wave, status)
		}
		t.flush()
		verb := "are queued"
		if request.DryRun {
			verb = "would be made"
		}
		fmt.Fprintf(w, "%s in the range, %s %s.\n", count(len(plan.Items), "wave"), count(plan.New, "new wave"), verb)
	})
}

func (c *cli) pastInstant(text string) (time.Time, error) {
	if text == "" || text == "now" {
		return c.now(), nil
	}
	return parseSince(text, c.now())
}
