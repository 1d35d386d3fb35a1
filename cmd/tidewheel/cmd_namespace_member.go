package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func (c *cli) memberCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "member", Aliases: []string{"members"}, Short: "Say who may do what in a namespace",
		Long: `Say who may do what in the namespace that --namespace names. A viewer reads, an operator also starts, stops and repeats, an editor also
saves and deletes, and an admin also gives roles.`,
		Example: "  tidewheel namespace member set ada editor -n finance\n  tidewheel namespace member ls -n finance",
	}
	set := &cobra.Command{
		Use: "set USER ROLE", Short: "Give a user a role", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			member, err := api.SetMember(cmd.Context(), c.namespace, args[0], args[1])
			if err != nil {
				return err
			}
			return c.print(member, func(w io.Writer) {
				fmt.Fprintf(w, "%s has the role %s in %s.\n", member.User, member.Role, c.namespace)
			})
		},
	}
	remove := c.asksFirst(&cobra.Command{
		Use: "rm USER", Aliases: []string{"delete"}, Short: "Take a user's role away", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			if err := api.RemoveMember(cmd.Context(), c.namespace, args[0]); err != nil {
				return err
			}
			return c.print(map[string]any{"user": args[0], "removed": true}, func(w io.Writer) { fmt.Fprintf(w, "%s has no role of their own in %s.\n", args[0], c.namespace) })
		},
	}, "Take the role of %s away?")
	list := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List who has a role", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			members, err := api.Members(cmd.Context(), c.namespace)
			if err != nil {
				return err
			}
			return c.printList(members.Items, members.Next, func(w io.Writer) {
				t := newTable(w, "USER", "ROLE", "IN")
				for i := range members.Items {
					m := &members.Items[i]
					where := c.namespace
					if m.AllNamespaces {
						where = "all namespaces"
					}
					t.row(m.User, m.Role, where)
				}
				t.flush()
			})
		},
	}
	cmd.AddCommand(set, list, remove)
	return cmd
}
