package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) slotsCommand() *cobra.Command {
	var since string
	var limit int
	cmd := &cobra.Command{
		Use: "slots JOB", Short: "Tell what became of a job's slots: fired, skipped or missed, and why",
		Long: `Tell what became of a job's slots, the newest first. Every slot ends as exactly one of: fired, which is a run;
skipped, because a rule of the definition says so; or missed, because nobody was there to fire it.`,
		Example: "  tidewheel slots nightly-report --since 7d",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := parseSince(since, c.now())
			if err != nil {
				return usage("--since: %w", err)
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			entries, next, err := collect(limit, func(page client.Page) (wire.List[wire.LedgerEntry], error) {
				return api.Slots(cmd.Context(), args[0], from, page)
			})
			if err != nil {
				return err
			}
			return c.printList(entries, next, func(w io.Writer) { c.tableOfLedger(w, entries) })
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "slots since then: 24h, 7d or a time")
	cmd.Flags().IntVar(&limit, "limit", defaultLimit, "how many lines at most; 0 is all")
	return cmd
}
