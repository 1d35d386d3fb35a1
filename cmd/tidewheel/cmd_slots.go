package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) slotsCommand() *cobra.Command {
	var since string
	var limit int
	cmd := &cobra.Command{
		Use: "slots JOB|DAG[/ROOT]", Short: "Tell what became of slots: fired, skipped or missed, and why",
		Long: `Tell what became of the slots of a job, or of a DAG's root, the newest first. Every slot ends as exactly one of: fired, which is a run;
skipped, because a rule of the definition says so; or missed, because nobody was there to fire it.`,
		Example: "  tidewheel slots nightly-report --since 7d\n  tidewheel slots etl/orders",
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
			kind, name, root, err := c.whichSlots(cmd.Context(), api, args[0])
			if err != nil {
				return err
			}
			entries, next, err := collect(limit, func(page client.Page) (wire.List[wire.LedgerEntry], error) {
				if kind == namedDAG {
					return api.DAGSlots(cmd.Context(), name, root, from, page)
				}
				return api.Slots(cmd.Context(), name, from, page)
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

// whichSlots tells whose slots a word means: a job, a DAG, or the root of a DAG as DAG/ROOT.
func (c *cli) whichSlots(ctx context.Context, api *client.Client, word string) (kind namedKind, name, root string, err error) {
	if _, found := strings.CutPrefix(word, string(namedJob)+"/"); !found {
		rest, _ := strings.CutPrefix(word, string(namedDAG)+"/")
		if dag, root, found := strings.Cut(rest, "/"); found {
			return namedDAG, dag, root, nil
		}
	}
	kind, name, err = c.which(ctx, api, word)
	return kind, name, "", err
}
