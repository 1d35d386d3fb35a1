package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/spec"
)

func (c *cli) notifySilenceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "silence", Aliases: []string{"silences"}, Short: "Keep notifications from being sent for a time",
		Example: "  tidewheel notify silence add --for 1h\n  tidewheel notify silence add 'report-*' --for 8h --alert late --reason maintenance",
	}
	var duration time.Duration
	var alert, reason string
	add := &cobra.Command{
		Use: "add [DEFINITION]", Short: "Silence a job or DAG, those that a pattern such as report-* fits, or all", Args: cobra.MaximumNArgs(1),
		Long: `Silence a job or DAG, those that a pattern such as report-* fits, or the whole namespace. Incidents that begin during the silence are listed as silenced,
and not sent unless a user sends them again.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if duration <= 0 {
				return usage("say how long by --for, such as --for 2h")
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			asked := wire.NewNotifySilence{Alert: spec.Alert(alert), For: spec.Duration(duration), Reason: reason}
			if len(args) > 0 {
				asked.Definition = args[0]
			}
			made, err := api.AddSilence(cmd.Context(), asked)
			if err != nil {
				return err
			}
			return c.print(made, func(w io.Writer) {
				of := ""
				if cmd.Flags().Changed("namespace") {
					of = " -n '" + c.namespace + "'"
				}
				fmt.Fprintf(w, "Silence %s lasts until %s. End it with `tidewheel notify%s silence rm %[1]s`.\n", made.ID, made.Until.Local().Format(time.DateTime), of)
			})
		},
	}
	add.Flags().DurationVar(&duration, "for", 0, "how long it lasts, such as 2h; at most 2160h")
	add.Flags().StringVar(&alert, "alert", "", "only this alert: failed, dead, missed, skipped, late, slow or silent; of the installation executor_silent, shard_without_owner or ledger_difference")
	add.Flags().StringVar(&reason, "reason", "", "why, for others to read")
	var names []string
	for _, one := range spec.Beginnings() {
		names = append(names, string(one))
	}
	_ = add.RegisterFlagCompletionFunc("alert", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	list := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the silences that are not over", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listSilences(cmd) },
	}
	remove := &cobra.Command{
		Use: "rm ID", Aliases: []string{"delete"}, Short: "End a silence", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			if err := api.DeleteSilence(cmd.Context(), args[0]); err != nil {
				return err
			}
			return c.print(map[string]any{"id": args[0], "deleted": true}, func(w io.Writer) { fmt.Fprintf(w, "Silence %s is over.\n", args[0]) })
		},
	}
	cmd.AddCommand(add, list, remove)
	return cmd
}

func (c *cli) listSilences(cmd *cobra.Command) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	silences, err := api.Silences(cmd.Context())
	if err != nil {
		return err
	}
	if len(silences.Items) == 0 && c.output == "table" {
		fmt.Fprintln(c.err, "Nothing is silenced.")
	}
	return c.printList(silences.Items, silences.Next, func(w io.Writer) {
		if len(silences.Items) == 0 {
			return
		}
		t := newTable(w, "ID", "OF", "ALERT", "UNTIL", "BY", "REASON")
		for i := range silences.Items {
			s := &silences.Items[i]
			of, alert := s.Definition, string(s.Alert)
			if of == "" {
				of = "all"
			}
			if alert == "" {
				alert = "all"
			}
			t.row(s.ID, of, alert, s.Until.Local().Format(time.DateTime), s.By, s.Reason)
		}
		t.flush()
	})
}

func (c *cli) notifyRulesCommand() *cobra.Command {
	show := func(cmd *cobra.Command, _ []string) error {
		api, err := c.client()
		if err != nil {
			return err
		}
		rules, err := api.NotifyRules(cmd.Context())
		if err != nil {
			return err
		}
		return c.printRules(&rules)
	}
	cmd := &cobra.Command{
		Use: "rules", Short: "Set the default alerts of a namespace", Args: cobra.NoArgs, RunE: show,
		Example: "  tidewheel notify rules\n  tidewheel notify rules set --on failed,dead,recovered --lag 5m --to ops",
	}
	var on, to []string
	var lag, duration time.Duration
	set := &cobra.Command{
		Use: "set", Short: "Set the rules of the namespace; rules without a flag are cleared", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			rules := wire.NotifyRules{Lag: spec.Duration(lag), Duration: spec.Duration(duration), To: to}
			for _, alert := range on {
				rules.On = append(rules.On, spec.Alert(alert))
			}
			saved, err := api.SetNotifyRules(cmd.Context(), rules)
			if err != nil {
				return err
			}
			return c.printRules(&saved)
		},
	}
	set.Flags().StringSliceVar(&on, "on", nil, "alerts: failed, dead, missed, skipped, recovered")
	set.Flags().StringSliceVar(&to, "to", nil, "the notification targets that are notified")
	set.Flags().DurationVar(&lag, "lag", 0, "report runs that have not started so long after their slot")
	set.Flags().DurationVar(&duration, "duration", 0, "report runs and waves that take longer")
	_ = set.RegisterFlagCompletionFunc("on",
		cobra.FixedCompletions([]string{"failed", "dead", "missed", "skipped", "recovered"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(set, &cobra.Command{Use: "show", Short: "Show the rules of the namespace", Args: cobra.NoArgs, RunE: show})
	return cmd
}

func (c *cli) printRules(rules *wire.NotifyRules) error {
	return c.print(rules, func(w io.Writer) {
		if len(rules.On) == 0 && rules.Lag == 0 && rules.Duration == 0 {
			fmt.Fprintln(w, "The namespace has no rules: only definitions with alerts of their own send notifications.")
			return
		}
		var on []string
		for _, alert := range rules.On {
			on = append(on, string(alert))
		}
		t := newTable(w)
		t.field("On", strings.Join(on, ", "))
		if rules.Lag > 0 {
			t.field("Late after", rules.Lag)
		}
		if rules.Duration > 0 {
			t.field("Slow after", rules.Duration)
		}
		t.field("To", strings.Join(rules.To, ", "))
		t.flush()
	})
}
