package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) userCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "user", Aliases: []string{"users"}, Short: "Add people who sign in, and say what they may do",
		Long: `Add people who sign in, and say what they may do. A user has a role in each namespace: viewer, operator, editor or admin. An admin
for all namespaces also looks after users, executors and backups.`,
		Example: "  tidewheel user add ada --role admin\n  tidewheel user add bob --role editor -n shop < password.txt\n  tidewheel user set bob --disable\n  tidewheel user ls",
	}
	var limit int
	list := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the users", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listUsers(cmd, limit) },
	}
	list.Flags().IntVar(&limit, "limit", 0, "how many at most; 0 is all")
	cmd.AddCommand(c.userAddCommand(), list, c.userSetCommand(), c.userRemoveCommand(), c.meCommand())
	return cmd
}

func (c *cli) userAddCommand() *cobra.Command {
	var role string
	add := &cobra.Command{
		Use: "add NAME", Short: "Add a user, whose password is read from standard input", Args: cobra.ExactArgs(1),
		Long: `Add a user, whose password is read from standard input; a terminal asks for it without showing it. The role is for the namespace of
-n, and without one for all namespaces.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			grants, err := c.grantsGiven(cmd, role)
			if err != nil {
				return err
			}
			password, err := c.newPassword(args[0])
			if err != nil {
				return err
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			user, err := api.CreateUser(cmd.Context(), wire.NewUser{Name: args[0], Password: password, Grants: grants})
			if err != nil {
				return err
			}
			return c.print(user, func(w io.Writer) { fmt.Fprintf(w, "User %s is added: %s.\n", user.Name, rolesInWords(user.Grants)) })
		},
	}
	add.Flags().StringVar(&role, "role", "", "viewer, operator, editor or admin; none without it")
	return add
}

func (c *cli) userSetCommand() *cobra.Command {
	var (
		role                      string
		password, disable, enable bool
	)
	change := &cobra.Command{
		Use: "set NAME", Short: "Change a user's role or password, or disable them", Args: cobra.ExactArgs(1),
		Long: `Change a user. --role replaces all roles of the user by this one, for the namespace of -n or, without one, for all; none takes them
away. A new password, and --disable, end the user's sessions and tokens.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var change wire.UserChange
			var err error
			if cmd.Flags().Changed("role") {
				if change.Grants, err = c.grantsGiven(cmd, role); err != nil {
					return err
				}
			}
			if disable || enable {
				change.Disabled = &disable
			}
			if change.Grants == nil && change.Disabled == nil && !password {
				return usage("there is nothing to change: give --role, --password, --disable or --enable")
			}
			if password {
				text, err := c.newPassword(args[0])
				if err != nil {
					return err
				}
				change.Password = &text
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			user, err := api.ChangeUser(cmd.Context(), args[0], change)
			if err != nil {
				return err
			}
			return c.print(user, func(w io.Writer) {
				state := ""
				if user.Disabled {
					state = ", disabled"
				}
				fmt.Fprintf(w, "User %s is changed: %s%s.\n", user.Name, rolesInWords(user.Grants), state)
			})
		},
	}
	flags := change.Flags()
	flags.StringVar(&role, "role", "", "viewer, operator, editor, admin or none")
	flags.BoolVar(&password, "password", false, "give a new password, which is read from standard input")
	flags.BoolVar(&disable, "disable", false, "the user cannot sign in any more")
	flags.BoolVar(&enable, "enable", false, "the user can sign in again")
	change.MarkFlagsMutuallyExclusive("disable", "enable")
	return change
}

func (c *cli) userRemoveCommand() *cobra.Command {
	return c.asksFirst(&cobra.Command{
		Use: "rm NAME", Aliases: []string{"delete"}, Short: "Delete a user, and end their sessions and tokens", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			if err := api.DeleteUser(cmd.Context(), args[0]); err != nil {
				return err
			}
			return c.print(map[string]any{"name": args[0], "deleted": true}, func(w io.Writer) { fmt.Fprintf(w, "User %s is deleted.\n", args[0]) })
		},
	}, "Delete the user %s, and end their sessions and tokens?")
}

func (c *cli) meCommand() *cobra.Command {
	return &cobra.Command{
		Use: "me", Short: "Show who you are to the server, and what you may do", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			me, err := api.Me(cmd.Context())
			if err != nil {
				return err
			}
			return c.print(me, func(w io.Writer) { fmt.Fprintf(w, "You are %s: %s.\n", me.Name, rolesInWords(me.Grants)) })
		},
	}
}

// grantsGiven reads --role and -n: the role in that namespace, or in all.
func (c *cli) grantsGiven(cmd *cobra.Command, role string) (map[string]string, error) {
	if role == "" && cmd.Flags().Changed("namespace") {
		return nil, usage("--namespace says where the user has a role: give --role, too")
	}
	if role == "" || role == "none" {
		return map[string]string{}, nil
	}
	if _, err := access.ParseRole(role); err != nil {
		return nil, usage("--role: %w", err)
	}
	return map[string]string{c.namespaceGiven(cmd): role}, nil
}

// namespaceGiven is what -n says, access.Everywhere without it; the environment does not count.
func (c *cli) namespaceGiven(cmd *cobra.Command) string {
	if cmd.Flags().Changed("namespace") {
		return c.namespace
	}
	return access.Everywhere
}

// newPassword reads a password from what is piped in, or asks for it twice.
func (c *cli) newPassword(name string) (string, error) {
	password, asked, err := c.readHidden("Password of "+name+" (it is not shown): ", access.MostPassword)
	if err != nil || !asked {
		return string(password), err
	}
	again, _, err := c.readHidden("The same again: ", access.MostPassword)
	if err == nil && string(again) != string(password) {
		err = usage("the two passwords differ: type the same one twice")
	}
	return string(password), err
}

func rolesInWords(grants map[string]string) string {
	words := make([]string, 0, len(grants))
	for _, namespace := range slices.Sorted(maps.Keys(grants)) {
		where := "in " + namespace
		if namespace == access.Everywhere {
			where = "everywhere"
		}
		words = append(words, grants[namespace]+" "+where)
	}
	if len(words) == 0 {
		return "no role"
	}
	return strings.Join(words, ", ")
}

func (c *cli) listUsers(cmd *cobra.Command, limit int) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	users, next, err := collect(limit, func(page client.Page) (wire.List[wire.User], error) { return api.Users(cmd.Context(), page) })
	if err != nil {
		return err
	}
	if len(users) == 0 && c.output == "table" {
		fmt.Fprintln(c.err, "There are no users. Add one with `tidewheel user add NAME --role admin`.")
	}
	return c.printList(users, next, func(w io.Writer) {
		if len(users) == 0 {
			return
		}
		t := newTable(w, "NAME", "ROLES", "STATE", "LAST LOGIN", "ADDED", "BY")
		for i := range users {
			u := &users[i]
			state := "enabled"
			if u.Disabled {
				state = "disabled"
			}
			t.row(u.Name, rolesInWords(u.Grants), state, c.ago(u.LastLogin), c.ago(u.CreatedAt), u.CreatedBy)
		}
		t.flush()
	})
}
