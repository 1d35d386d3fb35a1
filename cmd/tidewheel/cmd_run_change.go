package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) cancelCommand() *cobra.Command {
	return &cobra.Command{
		Use: "cancel RUN...", Short: "End runs: SIGTERM, some grace, SIGKILL", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			for _, id := range args {
				run, err := api.CancelRun(cmd.Context(), id)
				if err != nil {
					return err
				}
				if err := c.print(run, func(w io.Writer) { fmt.Fprintf(w, "Run %s is being cancelled.\n", id) }); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func (c *cli) retryCommand() *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use: "retry RUN", Short: "Try a run once more that ended badly", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			run, err := api.RetryRun(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if !wait {
				return c.print(run, func(w io.Writer) { fmt.Fprintf(w, "Run %s is tried again.\n", run.ID) })
			}
			before := run.Attempt
			for run.Attempt == before { // the answer is the run as it was before
				if err := pause(cmd.Context(), awaitEvery); err != nil {
					return err
				}
				if run, err = api.Run(cmd.Context(), args[0]); err != nil {
					return err
				}
			}
			return c.await(cmd.Context(), api, run, before)
		},
	}
	cmd.Flags().BoolVarP(&wait, "wait", "w", false, "follow the run to its end")
	return cmd
}

func (c *cli) diffCommand() *cobra.Command {
	return &cobra.Command{
		Use: "diff RUN RUN", Short: "Tell in what two runs differ", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			var runs [2]wire.Run
			for i, id := range args {
				if runs[i], err = api.Run(cmd.Context(), id); err != nil {
					return err
				}
			}
			rows := c.differences(&runs[0], &runs[1])
			type difference struct {
				Field string `json:"field"`
				Left  string `json:"left"`
				Right string `json:"right"`
			}
			items := []difference{}
			for _, row := range rows {
				items = append(items, difference{row[0], row[1], row[2]})
			}
			return c.printList(items, "", func(w io.Writer) {
				if len(items) == 0 {
					fmt.Fprintln(w, "They do not differ.")
					return
				}
				t := newTable(w, "FIELD", args[0], args[1])
				for _, item := range items {
					t.row(item.Field, item.Left, item.Right)
				}
				t.flush()
			})
		},
	}
}
