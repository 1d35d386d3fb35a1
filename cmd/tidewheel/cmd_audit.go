package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) auditCommand() *cobra.Command {
	var filter client.AuditFilter
	var since string
	var limit int
	cmd := &cobra.Command{
		Use: "audit", Short: "List who changed what, when and from where",
		Long: `List the changes that users have asked for, the newest first: by whom, from where, and with what result. Nothing is ever changed
in this list; ` + "`tidewheel audit verify`" + ` checks that.`,
		Example: "  tidewheel audit --since 24h --by ada\n  tidewheel audit --limit 0 -o json > audit.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if filter.Since, err = parseSince(since, c.now()); err != nil {
				return usage("--since: %w", err)
			}
			if cmd.Flags().Changed("namespace") {
				filter.In = c.namespace
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			entries, next, err := collect(limit, func(page client.Page) (wire.List[wire.AuditEntry], error) {
				filter.Page = page
				return api.Audit(cmd.Context(), filter)
			})
			if err != nil {
				return err
			}
			if len(entries) == 0 && !knowsUser(cmd.Context(), api, filter.By) {
				earlier, err := api.Audit(cmd.Context(), client.AuditFilter{By: filter.By, Page: client.Page{Limit: 1}})
				if err != nil {
					return err
				}
				if len(earlier.Items) == 0 {
					return &outcomeError{fmt.Sprintf("there is no user %q, and one has changed nothing: `tidewheel user ls` lists the users", filter.By)}
				}
			}
			return c.printList(entries, next, func(w io.Writer) { c.tableOfAudit(w, entries) })
		},
	}
	cmd.Flags().StringVar(&since, "since", "", "changes since then: 24h, 7d or a time")
	cmd.Flags().StringVar(&filter.By, "by", "", "changes of this user and their tokens, or of USER/TOKEN")
	cmd.Flags().StringVar(&filter.Text, "text", "", "changes with this text in their action or target")
	cmd.Flags().IntVar(&limit, "limit", defaultLimit, "how many lines at most; 0 is all")
	cmd.AddCommand(c.auditVerifyCommand())
	return cmd
}

func (c *cli) tableOfAudit(w io.Writer, entries []wire.AuditEntry) {
	if len(entries) == 0 {
		fmt.Fprintln(w, "No change is in the audit log.")
		return
	}
	t := newTable(w, "NUMBER", "WHEN", "BY", "FROM", "NAMESPACE", "OUTCOME", "ACTION", "WHAT")
	for i := range entries {
		e := &entries[i]
		t.row(e.Number, stamp(e.At), e.By, e.Remote, e.Namespace, e.Outcome, e.Action, changesInWords(e))
	}
	t.flush()
}

// changesInWords returns what was changed, or what was asked for.
func changesInWords(e *wire.AuditEntry) string {
	if len(e.Changes) == 0 {
		return e.Target
	}
	words := make([]string, len(e.Changes))
	for i, change := range e.Changes {
		words[i] = change.What
		switch {
		case change.Before != "" && change.After != "":
			words[i] += ": " + change.Before + " → " + change.After
		case change.After != "":
			words[i] += ": " + change.After
		case change.Before != "":
			words[i] += ": " + change.Before + ", deleted"
		}
	}
	return strings.Join(words, "; ")
}

func (c *cli) auditVerifyCommand() *cobra.Command {
	var hash string
	cmd := &cobra.Command{
		Use: "verify", Short: "Check that the audit log is what was written",
		Long: `Read the whole audit log and check that each entry follows from the previous one. What it prints as hash is that of the last
entry: keep it where those who can write to the store cannot, and give it to a later check by --hash. Without it the check cannot see that
the newest entries were removed. Exit status 1: the log is broken.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			check, err := api.VerifyAudit(cmd.Context(), hash)
			if err != nil {
				return err
			}
			if err := c.print(check, func(w io.Writer) {
				if check.Whole {
					fmt.Fprintf(w, "%d entries, each follows from the one before it\nhash %s\n", check.Entries, check.Hash)
				}
			}); err != nil {
				return err
			}
			if !check.Whole {
				return fmt.Errorf("the audit log is broken: %s", check.Problem)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&hash, "hash", "", "of an entry, as an earlier check gave it")
	return cmd
}
