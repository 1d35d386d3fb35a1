package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/access"
	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Aliases: []string{"tokens"}, Short: "Make tokens for programs that use the API",
		Long: `Make tokens for programs that use the API: CI, scripts, this command line. A token may at most what its owner may at the time of each
request; --role and -n bound it further.`,
		Example: "  tidewheel token create --name deploy --role editor -n shop --expires 90d\n  tidewheel token ls\n  tidewheel token revoke 1f0c5f1c7a3b9e22",
	}
	var all bool
	list := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List tokens, without what opens", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listTokens(cmd, all) },
	}
	list.Flags().BoolVar(&all, "all", false, "those of all users, for admins")
	revoke := c.asksFirst(&cobra.Command{
		Use: "revoke ID", Aliases: []string{"rm"}, Short: "End a token: it opens nothing any more", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			if err := api.RevokeToken(cmd.Context(), args[0]); err != nil {
				return err
			}
			return c.print(map[string]any{"id": args[0], "revoked": true}, func(w io.Writer) { fmt.Fprintf(w, "Token %s is revoked.\n", args[0]) })
		},
	}, "Revoke the token %s?")
	cmd.AddCommand(c.tokenCreateCommand(), list, revoke)
	return cmd
}

func (c *cli) tokenCreateCommand() *cobra.Command {
	var name, role, expires string
	create := &cobra.Command{
		Use: "create", Short: "Make a token, and show it once", Args: cobra.NoArgs,
		Long: `Make a token, and show it once: it is kept nowhere. Without --role it may all that you may, in the namespace of -n or, without one, in
all.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			made := wire.NewToken{Name: name}
			if role != "" {
				if made.Grants, err = c.grantsGiven(cmd, role); err != nil {
					return err
				}
			} else if cmd.Flags().Changed("namespace") {
				me, err := api.Me(cmd.Context())
				if err != nil {
					return err
				}
				own, _ := access.ParseRole(me.Grants[c.namespace]) // 0 where there is none
				all, _ := access.ParseRole(me.Grants[access.Everywhere])
				if max(own, all) == 0 {
					return usage("--namespace: you have no role in namespace %s", c.namespace)
				}
				made.Grants = map[string]string{c.namespace: max(own, all).String()}
			}
			if expires != "" {
				span, err := parseSpan(expires)
				if err != nil {
					return usage("--expires: %w", err)
				}
				if span <= 0 {
					return usage("--expires: %s is no time to come: give one such as 90d, or none", expires)
				}
				made.ExpiresAt = c.now().Add(span).UTC().Truncate(time.Second)
			}
			token, err := api.CreateToken(cmd.Context(), made)
			if err != nil {
				return err
			}
			return c.print(token, func(w io.Writer) {
				fmt.Fprintln(w, token.Token)
				fmt.Fprintf(c.err, "This is token %s (%s). It is shown here once: put it where its program finds it, such as TIDEWHEEL_TOKEN.\n",
					token.Detail.Name, scopeInWords(&token.Detail))
			})
		},
	}
	flags := create.Flags()
	flags.StringVar(&name, "name", "", "what it is called in lists and in the audit log; made up without it")
	flags.StringVar(&role, "role", "", "the most that it may: viewer, operator, editor or admin")
	flags.StringVar(&expires, "expires", "", "after how long it opens nothing any more, such as 90d; never without it")
	return create
}

func scopeInWords(token *wire.Token) string {
	if token.Grants == nil {
		return "all that " + token.Owner + " may"
	}
	return rolesInWords(token.Grants)
}

func (c *cli) listTokens(cmd *cobra.Command, all bool) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	tokens, err := api.Tokens(cmd.Context(), all)
	if err != nil {
		return err
	}
	if len(tokens.Items) == 0 && c.output == "table" {
		fmt.Fprintln(c.err, "There are no tokens. Make one with `tidewheel token create --name NAME`.")
	}
	return c.printList(tokens.Items, tokens.Next, func(w io.Writer) {
		if len(tokens.Items) == 0 {
			return
		}
		t := newTable(w, "ID", "NAME", "OWNER", "BEGINS", "MAY", "EXPIRES", "LAST USED", "MADE")
		for i := range tokens.Items {
			item := &tokens.Items[i]
			expires := "never"
			if !item.ExpiresAt.IsZero() {
				expires = stamp(item.ExpiresAt)
			}
			t.row(item.ID, item.Name, item.Owner, item.Prefix+"…", scopeInWords(item), expires, c.ago(item.LastUsed), c.ago(item.CreatedAt))
		}
		t.flush()
	})
}
