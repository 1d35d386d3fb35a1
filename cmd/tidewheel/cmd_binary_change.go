package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"
)

func (c *cli) binaryAliasCommand() *cobra.Command {
	return &cobra.Command{
		Use: "alias NAME ALIAS VERSION", Short: "Move an alias to a version", Args: cobra.ExactArgs(3),
		Example: "  tidewheel binary alias report stable 3",
		RunE: func(cmd *cobra.Command, args []string) error {
			version, err := strconv.Atoi(args[2])
			if err != nil || version < 1 {
				return usage("%q is no version: versions count 1, 2, 3…", args[2])
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			binary, err := api.MoveAlias(cmd.Context(), args[0], args[1], version)
			if err != nil {
				return err
			}
			return c.print(binary, func(w io.Writer) { fmt.Fprintf(w, "%s@%s is version %d now.\n", args[0], args[1], version) })
		},
	}
}

func (c *cli) binaryRollbackCommand() *cobra.Command {
	var alias string
	cmd := &cobra.Command{
		Use: "rollback NAME", Short: "Roll an alias back to its previous version", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			answer, err := api.RollBack(cmd.Context(), args[0], alias)
			if err != nil {
				return err
			}
			return c.print(answer, func(w io.Writer) {
				fmt.Fprintf(w, "%s@%s is version %d again (it was %d).\n", args[0], answer.Move.Alias, answer.Move.To, answer.Move.From)
			})
		},
	}
	cmd.Flags().StringVar(&alias, "alias", "stable", "which alias")
	return cmd
}

func (c *cli) binaryRemoveCommand() *cobra.Command {
	return c.asksFirst(&cobra.Command{
		Use: "rm NAME", Aliases: []string{"delete"}, Short: "Delete a binary that no job uses", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			if err := api.DeleteBinary(cmd.Context(), args[0]); err != nil {
				return err
			}
			return c.print(map[string]any{"name": args[0], "deleted": true}, func(w io.Writer) {
				fmt.Fprintf(w, "Binary %s is deleted.\n", args[0])
			})
		},
	}, "Delete the binary %s with all its versions?")
}
