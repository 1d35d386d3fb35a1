package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) deadLettersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "dlq", Aliases: []string{"dead-letters"}, Short: "Look after runs that used up their retries",
	}
	var limit int
	list := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the dead letters", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listDeadLetters(cmd.Context(), limit) },
	}
	list.Flags().IntVar(&limit, "limit", defaultLimit, "how many at most; 0 is all")
	cmd.AddCommand(list,
		c.deadLetterChange("replay", "Try dead runs again", "is tried again", func(ctx context.Context, api *client.Client, id string) error {
			_, err := api.ReplayDeadLetter(ctx, id)
			return err
		}),
		c.deadLetterChange("purge", "Remove dead letters; the runs stay in the history", "is purged", func(ctx context.Context, api *client.Client, id string) error {
			return api.PurgeDeadLetter(ctx, id)
		}))
	return cmd
}

// deadLetterChange is a command that does the same to some dead letters or to all.
func (c *cli) deadLetterChange(word, short, done string, change func(context.Context, *client.Client, string) error) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: word + " RUN...|--all", Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, ids []string) error {
			if all == (len(ids) > 0) {
				return usage("name the runs, or say --all")
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			if all {
				letters, _, err := collect(0, func(page client.Page) (wire.List[wire.DeadLetter], error) {
					return api.DeadLetters(cmd.Context(), page)
				})
				if err != nil {
					return err
				}
				for _, letter := range letters {
					ids = append(ids, letter.ID)
				}
			}
			for _, id := range ids {
				if err := change(cmd.Context(), api, id); err != nil {
					return err
				}
				if c.output == "table" {
					fmt.Fprintf(c.out, "Run %s %s.\n", id, done)
				}
			}
			if ids == nil {
				ids = []string{}
			}
			return c.print(map[string]any{"items": ids}, func(w io.Writer) {
				if len(ids) == 0 {
					fmt.Fprintln(w, "There are no dead letters.")
				}
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all of them")
	return cmd
}
