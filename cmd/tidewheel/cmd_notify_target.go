package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/spec"
)

// longestURL is how much is read of a URL on standard input, in bytes.
const longestURL = 4096

func (c *cli) notifyTargetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "target", Aliases: []string{"targets"}, Short: "Keep the places that notifications go to",
		Example: "  tidewheel notify target set ops --webhook https://hooks.example.com/tidewheel\n  tidewheel notify target set lead --email ada@example.com",
	}
	var limit int
	list := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the notification targets", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listTargets(cmd, limit) },
	}
	list.Flags().IntVar(&limit, "limit", 0, "how many at most; 0 is all")
	var force bool
	remove := c.asksFirst(&cobra.Command{
		Use: "rm NAME", Aliases: []string{"delete"}, Short: "Delete a notification target that no definition names", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			if err := api.DeleteNotifyTarget(cmd.Context(), args[0], force); err != nil {
				return err
			}
			return c.print(map[string]any{"name": args[0], "deleted": true}, func(w io.Writer) { fmt.Fprintf(w, "Notification target %s is deleted.\n", args[0]) })
		},
	}, "Delete the notification target %s?")
	remove.Flags().BoolVar(&force, "force", false, "also one that definitions name: they notify their other targets only")
	test := &cobra.Command{
		Use: "test NAME", Short: "Send a test to a notification target, and print its answer", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			tested, err := api.TestNotifyTarget(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.print(tested, func(w io.Writer) { fmt.Fprintf(w, "%s took the test: %s\n", tested.Target, tested.Answer) })
		},
	}
	cmd.AddCommand(c.setTargetCommand(), list, test, remove)
	return cmd
}

// targetFlags are those of `notify target set`.
type targetFlags struct {
	webhook, slack, teams, job string
	email                      []string
	allowPrivate               bool
	digest                     time.Duration
}

func (c *cli) setTargetCommand() *cobra.Command {
	var flags targetFlags
	set := &cobra.Command{
		Use:   "set NAME --webhook URL|--slack URL|--teams URL|--email ADDRESS...|--job JOB",
		Short: "Make or change a notification target", Args: cobra.ExactArgs(1),
		Long: `Make a notification target, or change one. A URL is stored sealed and not shown again; - reads it from standard input, so that it stands in no
history. Messages to a webhook are signed as Standard Webhooks are: the signing secret of a new one is printed once. Without a kind, the
digest and the addresses of one that is there are changed.`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.setTarget(cmd, args[0], &flags) },
	}
	set.Flags().StringVar(&flags.webhook, "webhook", "", "POST signed JSON to this `URL`")
	set.Flags().StringVar(&flags.slack, "slack", "", "the `URL` of an incoming webhook of Slack, or of what takes the same")
	set.Flags().StringVar(&flags.teams, "teams", "", "the `URL` of a workflow of Microsoft Teams that posts what a webhook receives")
	set.Flags().StringSliceVar(&flags.email, "email", nil, "send e-mail to this `address`; may be repeated")
	set.Flags().StringVar(&flags.job, "job", "", "run this `job` of the namespace, with the message as its payload")
	set.Flags().BoolVar(&flags.allowPrivate, "allow-private", false, "connect to private, loopback and link-local addresses, too")
	set.Flags().DurationVar(&flags.digest, "digest", 0, "collect messages for so long (1m to 24h), and send them as one; 0 sends each at once")
	set.MarkFlagsMutuallyExclusive("webhook", "slack", "teams", "email", "job")
	return set
}

func (c *cli) setTarget(cmd *cobra.Command, name string, flags *targetFlags) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	settings, err := c.targetSettings(cmd, api, name, flags)
	if err != nil {
		return err
	}
	set, err := api.SetNotifyTarget(cmd.Context(), name, settings)
	if err != nil {
		return err
	}
	return c.print(set, func(w io.Writer) {
		fmt.Fprintf(w, "Notification target %s is set. Try it with `tidewheel notify target test %[1]s`.\n", name)
		if set.SigningSecret != "" {
			fmt.Fprintf(w, "Its messages are signed with %s, which is not shown again: give it to the receiver.\n", set.SigningSecret)
		}
	})
}

// targetSettings are what the flags say; without a kind, those of the target that is there with what the flags change.
func (c *cli) targetSettings(cmd *cobra.Command, api *client.Client, name string, flags *targetFlags) (wire.NotifyTargetSettings, error) {
	settings := wire.NotifyTargetSettings{AllowPrivate: flags.allowPrivate, Digest: spec.Duration(flags.digest)}
	for _, one := range []struct{ kind, url string }{{"webhook", flags.webhook}, {"slack", flags.slack}, {"teams", flags.teams}} {
		if one.url != "" {
			settings.Kind, settings.URL = one.kind, one.url
		}
	}
	switch {
	case settings.URL == "-":
		text, _, err := c.readHidden("URL of the target "+name+" (it is not shown): ", longestURL)
		settings.URL = strings.TrimSpace(string(text))
		return settings, err
	case settings.URL != "":
	case len(flags.email) > 0:
		settings.Kind, settings.Addresses = "email", flags.email
	case flags.job != "":
		settings.Kind, settings.Job = "job", flags.job
	default:
		there, err := api.NotifyTarget(cmd.Context(), name)
		if absent(err) {
			return settings, usage("there is no notification target %q yet: say how it is reached, by --webhook, --slack, --teams, --email or --job", name)
		} else if err != nil {
			return settings, err
		}
		settings.Kind, settings.Addresses, settings.Job = there.Kind, there.Addresses, there.Job
		if !cmd.Flags().Changed("allow-private") {
			settings.AllowPrivate = there.AllowPrivate
		}
		if !cmd.Flags().Changed("digest") {
			settings.Digest = there.Digest
		}
	}
	return settings, nil
}

func (c *cli) listTargets(cmd *cobra.Command, limit int) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	targets, next, err := collect(limit, func(page client.Page) (wire.List[wire.NotifyTarget], error) {
		return api.NotifyTargets(cmd.Context(), page)
	})
	if err != nil {
		return err
	}
	if len(targets) == 0 && c.output == "table" {
		fmt.Fprintln(c.err, "There are no notification targets. Make one with `tidewheel notify target set NAME --webhook URL`.")
	}
	return c.printList(targets, next, func(w io.Writer) {
		if len(targets) == 0 {
			return
		}
		t := newTable(w, "NAME", "KIND", "WHERE", "DIGEST", "SET", "BY")
		for i := range targets {
			one := &targets[i]
			digest := ""
			if one.Digest > 0 {
				digest = one.Digest.String()
			}
			t.row(one.Name, one.Kind, targetPlace(one), digest, c.ago(one.UpdatedAt), one.UpdatedBy)
		}
		t.flush()
	})
}

// targetPlace is where a target is, without what is secret of it.
func targetPlace(t *wire.NotifyTarget) string {
	switch t.Kind {
	case "email":
		return strings.Join(t.Addresses, ", ")
	case "job":
		return t.Job
	}
	return t.URL
}
