package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) favouriteCommand() *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use: "favourite [[job|dag] NAME...]", Short: "List and star the jobs and DAGs that you look at most",
		Long: "Star jobs and DAGs: your pages show them first. Without a name, list those that are starred. They are yours: other users do not see them.",
		Example: `  tidewheel favourite nightly-report
  tidewheel favourite --remove dag etl
  tidewheel favourite`,
		ValidArgsFunction: c.completeAfterKind(namedJob, namedDAG),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				if remove {
					return usage("name whose star to remove: `tidewheel favourite --remove NAME`")
				}
				api, err := c.client()
				if err != nil {
					return err
				}
				starred, err := api.Favourites(cmd.Context())
				if err != nil {
					return err
				}
				return c.printList(starred.Items, starred.Next, func(w io.Writer) {
					t := newTable(w, "KIND", "NAME")
					for _, one := range starred.Items {
						t.row(one.Kind, one.Name)
					}
					t.flush()
				})
			}
			api, named, err := c.definitionsNamed(cmd.Context(), "favourite", args)
			if err != nil {
				return err
			}
			done := "is a favourite"
			if remove {
				done = "is no favourite"
			}
			for _, one := range named {
				kind := "job"
				if one.kind == namedDAG {
					kind = "dag"
				}
				favourite := wire.Favourite{Kind: kind, Name: one.name}
				if err := api.SetFavourite(cmd.Context(), favourite, !remove); err != nil {
					return err
				}
				if err := c.print(favourite, func(w io.Writer) { fmt.Fprintf(w, "%s %s.\n", one.name, done) }); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "take their stars away")
	return cmd
}
