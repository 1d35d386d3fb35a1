package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

func (c *cli) drainCommand() *cobra.Command {
	undo := false
	cmd := &cobra.Command{
		Use: "drain EXECUTOR...", Short: "Drain executors before they are stopped",
		Long: `Drain executors before they are stopped: they take no new runs, finish those that run, and hand back those that have not begun.
They stay alive; ` + "`tidewheel get executors`" + ` shows when no runs are left on them. With --undo they take runs again.`,
		Example: "  tidewheel drain quay-7-x5m2qa\n  tidewheel drain --undo quay-7-x5m2qa", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			order := api.DrainExecutor
			if undo {
				order = api.ResumeExecutor
			}
			for _, id := range args {
				executor, err := order(cmd.Context(), id)
				if err != nil {
					return err
				}
				if err := c.print(executor, func(w io.Writer) { tellDrain(w, &executor) }); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "let them take work again")
	return cmd
}

func tellDrain(w io.Writer, executor *wire.Executor) {
	if !executor.Draining {
		fmt.Fprintf(w, "Executor %s takes runs again.\n", executor.ID)
		return
	}
	fmt.Fprintf(w, "Executor %s is draining; %s on it now.\n", executor.ID, runsOn(len(executor.Running)))
}

func runsOn(count int) string {
	if count == 1 {
		return "1 run is"
	}
	return fmt.Sprintf("%d runs are", count)
}

// tableOfEngines lists who turns the shards.
func (c *cli) tableOfEngines(w io.Writer, engines []wire.Engine) {
	if len(engines) == 0 {
		fmt.Fprintln(w, "No engine is alive: no slot fires until one is started.")
		return
	}
	t := newTable(w, "ID", "HOST", "SHARDS", "STATE", "VERSION", "SINCE")
	ownerless := engine.Shards
	for i := range engines {
		e := &engines[i]
		ownerless -= e.Shards
		state := "ready"
		switch {
		case e.Leaving:
			state = "leaving"
		case e.Shards == 0:
			state = "waiting"
		}
		t.row(e.ID, e.Host, e.Shards, state, e.Version, c.ago(e.Since))
	}
	t.flush()
	if ownerless > 0 && ownerless < engine.Shards {
		fmt.Fprintf(w, "%s without an engine.\n", count(ownerless, "shard"))
	}
}

func (c *cli) getEngine(ctx context.Context, api *client.Client, id string) error {
	engines, err := api.Engines(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(engines, func(e wire.Engine) bool { return e.ID == id })
	if i < 0 {
		return &refusedError{fmt.Sprintf("there is no engine %q", id)}
	}
	return c.print(engines[i], func(w io.Writer) { c.tableOfEngines(w, engines[i:i+1]) })
}
