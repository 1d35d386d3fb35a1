package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func (c *cli) sessionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "session", Aliases: []string{"sessions"}, Short: "See where users are signed in, and end sessions",
		Example: "  tidewheel session ls --user ada\n  tidewheel session end 1f0c5f1c7a3b9e22 --user ada",
	}
	var user string
	list := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the sessions of browsers", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			sessions, err := api.Sessions(cmd.Context(), user)
			if err != nil {
				return err
			}
			if len(sessions.Items) == 0 && !knowsUser(cmd.Context(), api, user) {
				return &outcomeError{fmt.Sprintf("there is no user %q: `tidewheel user ls` lists the users", user)}
			}
			if len(sessions.Items) == 0 && c.output == "table" {
				fmt.Fprintln(c.err, "There are no sessions.")
			}
			return c.printList(sessions.Items, sessions.Next, func(w io.Writer) {
				if len(sessions.Items) == 0 {
					return
				}
				t := newTable(w, "ID", "USER", "LAST SEEN", "SIGNED IN", "EXPIRES", "FROM", "BROWSER")
				for i := range sessions.Items {
					s := &sessions.Items[i]
					t.row(s.ID, s.User, c.ago(s.LastSeen), c.ago(s.CreatedAt), stamp(s.ExpiresAt), s.Address, s.Agent)
				}
				t.flush()
			})
		},
	}
	end := &cobra.Command{
		Use: "end ID", Aliases: []string{"rm"}, Short: "End a session: its browser has to sign in again", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			if err := api.EndSession(cmd.Context(), user, args[0]); err != nil {
				return err
			}
			return c.print(map[string]any{"id": args[0], "ended": true}, func(w io.Writer) { fmt.Fprintf(w, "Session %s is ended.\n", args[0]) })
		},
	}
	for _, command := range []*cobra.Command{list, end} {
		command.Flags().StringVar(&user, "user", "", "whose sessions, for admins; your own without it")
	}
	cmd.AddCommand(list, end)
	return cmd
}
