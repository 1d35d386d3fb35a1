package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) notifyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "notify", Aliases: []string{"notifications"}, Short: "Configure notifications, and list what was sent",
		Long: `Configure who is notified when something goes wrong. A definition names notification targets: alerts: {on: [failed, missed], to: [ops]}. What it leaves
out comes from the rules of its namespace. With --namespace '*' it is about the installation as a whole: silent executors, shards without an
owner, differences in the ledger.`,
		Example: `  tidewheel notify target set ops --slack https://hooks.slack.com/services/…
  tidewheel notify target test ops
  tidewheel notify rules set --on failed,dead,recovered --to ops
  tidewheel notify ls --state failed
  tidewheel notify silence add nightly-report --for 2h --reason "the database moves"`,
	}
	cmd.AddCommand(c.notifyTargetCommand(), c.notifyListCommand(), c.notifyRetryCommand(), c.notifyIncidentsCommand(), c.notifySilenceCommand(), c.notifyRulesCommand())
	return cmd
}

func (c *cli) notifyListCommand() *cobra.Command {
	var limit int
	var filter client.DeliveryFilter
	list := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List notifications, the newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listDeliveries(cmd, filter, limit) },
	}
	list.Flags().IntVar(&limit, "limit", defaultLimit, "how many at most; 0 is all")
	list.Flags().StringVar(&filter.Target, "target", "", "those to this target")
	list.Flags().StringVar(&filter.State, "state", "", "those in this state: waiting, held, delivered, failed or silenced")
	_ = list.RegisterFlagCompletionFunc("state",
		cobra.FixedCompletions([]string{"waiting", "held", "delivered", "failed", "silenced"}, cobra.ShellCompDirectiveNoFileComp))
	return list
}

func (c *cli) listDeliveries(cmd *cobra.Command, filter client.DeliveryFilter, limit int) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	deliveries, next, err := collect(limit, func(page client.Page) (wire.List[wire.NotifyDelivery], error) {
		filter.Page = page
		return api.Deliveries(cmd.Context(), filter)
	})
	if err != nil {
		return err
	}
	if len(deliveries) == 0 && filter.Target != "" {
		if _, err := api.NotifyTarget(cmd.Context(), filter.Target); absent(err) {
			return &outcomeError{fmt.Sprintf("there is no notification target %q, and nothing was sent to one: `tidewheel notify target ls` lists them", filter.Target)}
		} else if err != nil {
			return err
		}
	}
	if len(deliveries) == 0 && c.output == "table" {
		fmt.Fprintln(c.err, "Nothing was sent. Definitions ask for it by alerts: {on: [failed], to: [TARGET]}.")
	}
	return c.printList(deliveries, next, func(w io.Writer) {
		if len(deliveries) == 0 {
			return
		}
		t := newTable(w, "ID", "WHEN", "TARGET", "STATE", "WHAT", "ANSWER")
		for i := range deliveries {
			d := &deliveries[i]
			t.row(d.ID, c.ago(d.CreatedAt), d.Target, d.State, incidentWords(&d.Incident, d.Over), deliveryAnswer(d))
		}
		t.flush()
	})
}

// incidentWords are what an incident is about, in one line.
func incidentWords(i *wire.NotifyIncident, over bool) string {
	about := cmp.Or(i.Job, i.DAG, i.Subject)
	if i.Task != "" {
		about += "/" + i.Task
	}
	words := string(i.Alert)
	if about != "" {
		words = about + " " + words
	}
	if over {
		words += ", over"
	}
	return words
}

// deliveryAnswer is the latest answer of a target, or why there is none.
func deliveryAnswer(d *wire.NotifyDelivery) string {
	if n := len(d.Attempts); n > 0 {
		return cmp.Or(d.Attempts[n-1].Error, d.Attempts[n-1].Answer)
	}
	return d.Reason
}

func (c *cli) notifyRetryCommand() *cobra.Command {
	return &cobra.Command{
		Use: "retry ID", Short: "Send a notification again that its target has not taken", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			delivery, err := api.RetryDelivery(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.print(delivery, func(w io.Writer) {
				fmt.Fprintf(w, "It is sent to %s again. See `tidewheel notify ls`.\n", delivery.Target)
			})
		},
	}
}

func (c *cli) notifyIncidentsCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "incidents", Short: "List what is wrong now", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listIncidents(cmd, limit) },
	}
	cmd.Flags().IntVar(&limit, "limit", defaultLimit, "how many at most; 0 is all")
	return cmd
}

func (c *cli) listIncidents(cmd *cobra.Command, limit int) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	incidents, next, err := collect(limit, func(page client.Page) (wire.List[wire.NotifyIncident], error) {
		return api.Incidents(cmd.Context(), page)
	})
	if err != nil {
		return err
	}
	if len(incidents) == 0 && c.output == "table" {
		fmt.Fprintln(c.err, "Nothing is wrong now that alerts ask for.")
	}
	return c.printList(incidents, next, func(w io.Writer) {
		if len(incidents) == 0 {
			return
		}
		t := newTable(w, "WHAT", "SINCE", "TIMES", "LATEST", "WHY")
		for i := range incidents {
			one := &incidents[i]
			t.row(incidentWords(one, false), c.ago(one.Since), one.Count, c.ago(one.Latest), one.Reason)
		}
		t.flush()
	})
}
