package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) slotsCommand() *cobra.Command {
	var since string
	var limit int
	cmd := &cobra.Command{
		Use: "slots JOB|DAG[/ROOT]", Short: "Show the slot ledger: fired, skipped or missed, and why",
		Long: `Show the result of the slots of a job, of a DAG's root, or of all roots of a DAG, the newest first. Every slot ends as exactly one of: fired, which is a run;
skipped, because a rule of the definition says so; or missed, because no engine was running to fire it.`,
		Example: "  tidewheel slots nightly-report --since 7d\n  tidewheel slots etl/orders",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: c.complete(1, namedJob, namedDAG),
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
			var entries []wire.LedgerEntry
			var next string
			if kind == namedDAG {
				entries, next, err = slotsOfDAG(cmd.Context(), api, name, root, from, limit)
			} else {
				entries, next, err = collect(limit, func(page client.Page) (wire.List[wire.LedgerEntry], error) {
					return api.Slots(cmd.Context(), name, from, page)
				})
			}
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

// slotsOfDAG reads the ledger of one root, or of all roots of a DAG together. Of several there is no cursor of the next page:
// one asks for each by its name.
func slotsOfDAG(ctx context.Context, api *client.Client, name, root string, from time.Time, limit int) (entries []wire.LedgerEntry, next string, err error) {
	read := func(root string) ([]wire.LedgerEntry, string, error) {
		return collect(limit, func(page client.Page) (wire.List[wire.LedgerEntry], error) {
			return api.DAGSlots(ctx, name, root, from, page)
		})
	}
	if root != "" {
		return read(root)
	}
	preview, err := api.NextDAGSlots(ctx, name, time.Time{}, 1)
	if err != nil {
		return nil, "", err
	}
	if len(preview.Roots) < 2 {
		return read("")
	}
	entries = []wire.LedgerEntry{}
	for _, root := range preview.Roots {
		some, _, err := read(root.Root)
		if err != nil {
			return nil, "", err
		}
		for i := range some {
			some[i].Root = root.Root
		}
		entries = append(entries, some...)
	}
	slices.SortStableFunc(entries, func(a, b wire.LedgerEntry) int { return b.From.Compare(a.From) })
	if limit > 0 && len(entries) > limit {
		entries = entries[:limit]
	}
	return entries, "", nil
}

// whichSlots reports whose slots a word means: a job, a DAG, or the root of a DAG as DAG/ROOT.
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
