package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/enrol"
)

func (c *cli) executorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "executor", Short: "Give executors credentials of their own",
		Long: `Give executors credentials of their own. An executor that is enrolled may do at NATS what tasks of its tier need, and nothing else. It makes
its key itself, renews its credentials while it runs, and follows rotations of the keys that tasks are signed with.`,
		Example: `  tidewheel executor token --tier heavy                   # an admin; on the server or anywhere
  tidewheel executor enrol --server https://tide.example.com --token twe_… --out /etc/tidewheel/enrolment   # on the executor's machine
  tidewheel server --roles executor --enrolment /etc/tidewheel/enrolment --nats-url tls://… --s3-endpoint https://…
  tidewheel executor revoke quay-7`,
	}
	list := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List executors that are enrolled, alive or not", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			found, err := api.EnrolledExecutors(cmd.Context())
			if err != nil {
				return err
			}
			return c.printList(found.Items, found.Next, func(w io.Writer) {
				if len(found.Items) == 0 {
					fmt.Fprintln(c.err, "No executor is enrolled. Begin with `tidewheel executor token --tier TIER`.")
					return
				}
				t := newTable(w, "NAME", "TIER", "KEY", "INVITED BY", "ENROLLED")
				for _, e := range found.Items {
					t.row(e.Name, e.Tier, e.PublicKey, e.InvitedBy, c.ago(e.EnrolledAt))
				}
				t.flush()
			})
		},
	}
	revoke := c.asksFirst(&cobra.Command{
		Use: "revoke NAME", Short: "End the enrolment of an executor", Args: cobra.ExactArgs(1),
		Long: `End the enrolment of an executor. It is given no credentials any more and ends when it asks for them, within a minute. An embedded NATS ends its
connection within seconds. Another NATS takes credentials until they expire (--executor-credentials-ttl): to end them at once, revoke
the key that ` + "`tidewheel executor ls`" + ` shows in the account, such as with ` + "`nsc revocations add-user`.",
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			if err := api.RevokeExecutor(cmd.Context(), args[0]); err != nil {
				return err
			}
			return c.print(map[string]any{"name": args[0], "revoked": true}, func(w io.Writer) { fmt.Fprintf(w, "Executor %s is revoked.\n", args[0]) })
		},
	}, "Revoke the executor %s?")
	cmd.AddCommand(c.executorTokenCommand(), c.executorEnrolCommand(), c.executorNATSCommand(), list, revoke)
	return cmd
}

func (c *cli) executorTokenCommand() *cobra.Command {
	var tier, ttl string
	cmd := &cobra.Command{
		Use: "token --tier TIER", Short: "Make a token that enrols one executor, and show it once", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			span, err := parseSpan(ttl)
			if err != nil || span <= 0 {
				return usage("--ttl %q: write a duration such as 1h", ttl)
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			token, err := api.CreateExecutorToken(cmd.Context(), wire.NewExecutorToken{Tier: tier, TTL: span.String()})
			if err != nil {
				return err
			}
			return c.print(token, func(w io.Writer) {
				fmt.Fprintln(w, token.Token)
				fmt.Fprintf(c.err, "It enrols one executor of tier %s, until %s. It is shown here once; use it with `tidewheel executor enrol` on the executor's machine.\n",
					token.Tier, stamp(token.ExpiresAt))
			})
		},
	}
	cmd.Flags().StringVar(&tier, "tier", "", "which tasks it may take: light, medium, heavy or all; heavier ones help the lighter when idle")
	cmd.Flags().StringVar(&ttl, "ttl", enrol.DefaultTTL.String(), "for how long the token can be used, at most 168h")
	_ = cmd.MarkFlagRequired("tier")
	return cmd
}

func (c *cli) executorEnrolCommand() *cobra.Command {
	var server, tokenFile, out, name string
	cmd := &cobra.Command{
		Use: "enrol --server URL --token TOKEN --out FOLDER", Aliases: []string{"enroll"}, Short: "Enrol this machine's executor", Args: cobra.NoArgs,
		Long: `Enrol this machine's executor, with a token of ` + "`tidewheel executor token`" + `. It makes a key, which stays here, and writes what it is given to a
folder that only this user reads: run it as the user that the executor runs as, and start that with --enrolment FOLDER. --token is the enrolment
token here. With --ca-file the executor trusts these authorities at its server, later, too.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if server == "" {
				server = c.url
			}
			token := c.token
			if tokenFile != "" {
				var err error
				if token, err = readSecret("--token-file", tokenFile); err != nil {
					return err
				}
			}
			if token == "" {
				return usage("--token: give the token that `tidewheel executor token` has shown, or its file by --token-file")
			}
			if name == "" {
				_, name = hostName()
			}
			given := &enrolledAs{Server: strings.TrimRight(server, "/"), Name: name}
			if err := c.enrolExecutor(cmd, given, token, out); err != nil {
				return err
			}
			shown := map[string]any{"name": given.Name, "tier": given.Tier, "folder": out, "expires_at": given.Expires.Format(time.RFC3339)}
			return c.print(shown, func(w io.Writer) {
				fmt.Fprintf(w, "Executor %s is enrolled for tier %s. Start it with `tidewheel server --roles executor --enrolment %s`.\n", given.Name, given.Tier, out)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&server, "server", "", "address of a server with the role web (default --url)")
	flags.StringVar(&tokenFile, "token-file", "", "file of the enrolment token, in the place of --token")
	flags.StringVar(&out, "out", "", "folder for what the executor is given; made if missing")
	flags.StringVar(&name, "name", "", "what the executor is called, unique among those that are enrolled (default the machine's name)")
	_ = cmd.MarkFlagRequired("out")
	return cmd
}

// enrolExecutor enrols this machine's executor into a folder that holds no enrolment yet.
func (c *cli) enrolExecutor(cmd *cobra.Command, as *enrolledAs, token, folder string) error {
	if address, err := url.Parse(as.Server); err == nil && address.Scheme == "http" && !loopback(address.Hostname()) {
		fmt.Fprintf(c.err, "%s has no TLS: anyone on the way reads the token, and can change what this executor trusts. Use https:// where you can.\n", as.Server)
	}
	if _, err := os.Stat(filepath.Join(folder, enrolmentFile)); err == nil {
		return usage("--out: %s holds an enrolment: give another folder, or remove it if it is of no use any more", folder)
	}
	if c.caFile != "" {
		text, err := os.ReadFile(c.caFile)
		if err != nil {
			return usage("--ca-file: %w", err)
		}
		as.ServerCA = string(text)
	}
	err := as.enrol(cmd.Context(), token, folder)
	var closed *fs.PathError
	if errors.As(err, &closed) {
		return usage("--out: %w", err)
	}
	return err
}
