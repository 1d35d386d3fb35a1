package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/spec"
)

func (c *cli) namespaceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "namespace", Aliases: []string{"namespaces"}, Short: "Keep the jobs of teams apart",
		Long: `Keep the jobs of teams apart. A namespace owns jobs, DAGs, binaries and secrets, and users have roles in it. The namespace default
is always there. Commands work in the one that --namespace or TIDEWHEEL_NAMESPACE names.`,
		Example: "  tidewheel namespace create finance --description 'Reports and invoices'\n  tidewheel apply -n finance -f jobs/\n  tidewheel namespace ls",
	}
	var description string
	create := &cobra.Command{
		Use: "create NAME", Short: "Create a namespace", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			made, err := api.CreateNamespace(cmd.Context(), wire.NewNamespace{Name: args[0], Description: description})
			if err != nil {
				return err
			}
			return c.print(made, func(w io.Writer) { fmt.Fprintf(w, "Namespace %s is created.\n", made.Name) })
		},
	}
	create.Flags().StringVar(&description, "description", "", "what it is for")
	remove := c.asksFirst(&cobra.Command{
		Use: "rm NAME", Aliases: []string{"delete"}, Short: "Delete a namespace that owns nothing any more", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			if err := api.DeleteNamespace(cmd.Context(), args[0]); err != nil {
				return err
			}
			return c.print(map[string]any{"name": args[0], "deleted": true}, func(w io.Writer) { fmt.Fprintf(w, "Namespace %s is deleted.\n", args[0]) })
		},
	}, "Delete the namespace %s?")
	list := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the namespaces in which you have a role", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listNamespaces(cmd) },
	}
	show := &cobra.Command{
		Use: "show NAME", Short: "Show a namespace with its quota, and what it uses of that", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			shown, err := api.Namespace(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.print(shown, func(w io.Writer) { describeNamespace(w, &shown) })
		},
	}
	cmd.AddCommand(create, list, show, c.setNamespaceCommand(), remove, c.memberCommand())
	return cmd
}

// setNamespaceCommand changes what its flags name.
func (c *cli) setNamespaceCommand() *cobra.Command {
	var settings wire.NamespaceSettings
	var description, stored, age, output string
	var kept int
	var jobs, queued, running, submits int64
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Describe a namespace, bound what it may use, or say how long its history is kept", Args: cobra.ExactArgs(1),
		Long: `Describe a namespace, bound what it may use, or say how long its history is kept where a job or a DAG does not say. What no flag
names stays as it is; 0 takes a bound away. Bounds are for an admin of all namespaces to set.`,
		Example: "  tidewheel namespace set finance --max-jobs 100 --max-running 20 --max-stored 5GiB\n" +
			"  tidewheel namespace set finance --retention-age 90d --retention-runs 1000 --retention-output 14d",
		RunE: func(cmd *cobra.Command, args []string) error {
			changed := cmd.Flags().Changed
			if changed("description") {
				settings.Description = &description
			}
			for name, to := range map[string]struct {
				bound **int64
				value *int64
			}{
				"max-jobs": {&settings.Quota.Jobs, &jobs}, "max-queued": {&settings.Quota.Queued, &queued},
				"max-running": {&settings.Quota.Running, &running}, "max-submits": {&settings.Quota.SubmitsPerSecond, &submits},
			} {
				if changed(name) {
					*to.bound = to.value
				}
			}
			if changed("max-stored") {
				var size spec.Size
				if err := size.UnmarshalText([]byte(stored)); err != nil && stored != "0" {
					return usage("--max-stored %s", strings.TrimPrefix(err.Error(), "spec: size "))
				}
				bytes := int64(size)
				settings.Quota.StoredBytes = &bytes
			}
			for name, of := range map[string]struct {
				to    **string
				given string
			}{"retention-age": {&settings.Retention.Age, age}, "retention-output": {&settings.Retention.Output, output}} {
				if !changed(name) {
					continue
				}
				span, err := parseSpan(of.given)
				if err != nil {
					return usage("--%s: %w", name, err)
				}
				words := "0"
				if span != 0 {
					words = spec.Duration(span).String()
				}
				*of.to = &words
			}
			if changed("retention-runs") {
				settings.Retention.Runs = &kept
			}
			if settings == (wire.NamespaceSettings{}) {
				return usage("say what to set: --description, --max-jobs, --max-queued, --max-running, --max-stored, --max-submits, " +
					"--retention-age, --retention-runs or --retention-output")
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			set, err := api.SetNamespace(cmd.Context(), args[0], settings)
			if err != nil {
				return err
			}
			return c.print(set, func(w io.Writer) { fmt.Fprintf(w, "Namespace %s is changed.\n", set.Name) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&description, "description", "", "what it is for")
	flags.Int64Var(&jobs, "max-jobs", 0, "how many jobs and DAGs it may define")
	flags.Int64Var(&queued, "max-queued", 0, "how many of its runs may wait before manual runs are refused")
	flags.Int64Var(&running, "max-running", 0, "how many of its runs may be under way at a time")
	flags.StringVar(&stored, "max-stored", "0", "how much its binaries, and what its runs leave in S3, may take, with a unit (5GiB)")
	flags.StringVar(&age, "retention-age", "0", "how long runs are kept after their end, as 90d or 2160h; 0: as long as the server does")
	flags.IntVar(&kept, "retention-runs", 0, "how many runs of each job, and waves of each DAG, are kept, the newest")
	flags.StringVar(&output, "retention-output", "0", "how long the output and artifacts of runs are kept in S3, as 14d or 336h; 0: as long as the server does")
	flags.Int64Var(&submits, "max-submits", 0, "how many runs may be asked for in a second")
	return cmd
}

// describeNamespace writes a namespace with what it uses of its quota.
func describeNamespace(w io.Writer, n *wire.Namespace) {
	fmt.Fprintf(w, "Namespace    %s\n", n.Name)
	if n.Description != "" {
		fmt.Fprintf(w, "Description  %s\n", n.Description)
	}
	fmt.Fprintf(w, "Your role    %s\n\n", n.Role)
	t := newTable(w, "QUOTA", "IN USE", "BOUND")
	t.row("jobs and DAGs", number(n.Usage.Jobs), bound(n.Quota.Jobs, number))
	t.row("queued runs", numberOr(n.Usage.Queued), bound(n.Quota.Queued, number))
	t.row("running runs", numberOr(n.Usage.Running), bound(n.Quota.Running, number))
	t.row("stored", bytesOf(n.Usage.StoredBytes), bound(n.Quota.StoredBytes, bytesOf))
	t.row("submits per second", "", bound(n.Quota.SubmitsPerSecond, number))
	t.flush()
	const server = "as long as the server says"
	fmt.Fprintf(w, "\nHistory kept for  %s\nRuns kept         %s\nOutput kept for   %s\n",
		cmp.Or(n.Retention.Age, server), bound(int64(n.Retention.Runs), number), cmp.Or(n.Retention.Output, server))
}

// numberOr writes a number that may not be known.
func numberOr(n *int64) string {
	if n == nil {
		return "?"
	}
	return number(*n)
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// bound writes a bound of a quota.
func bound(n int64, in func(int64) string) string {
	if n == 0 {
		return "none"
	}
	return in(n)
}

// used writes what is used of a bound, as in "3/10", or "3" where there is none.
func used(n *int64, of int64) string {
	if of == 0 {
		return numberOr(n)
	}
	return numberOr(n) + "/" + number(of)
}

func (c *cli) listNamespaces(cmd *cobra.Command) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	namespaces, err := api.Namespaces(cmd.Context())
	if err != nil {
		return err
	}
	return c.printList(namespaces.Items, namespaces.Next, func(w io.Writer) {
		t := newTable(w, "NAME", "YOUR ROLE", "JOBS", "QUEUED", "RUNNING", "STORED", "DESCRIPTION")
		for i := range namespaces.Items {
			n := &namespaces.Items[i]
			stored := bytesOf(n.Usage.StoredBytes)
			if n.Quota.StoredBytes > 0 {
				stored += "/" + bytesOf(n.Quota.StoredBytes)
			}
			t.row(n.Name, n.Role, used(&n.Usage.Jobs, n.Quota.Jobs), used(n.Usage.Queued, n.Quota.Queued), used(n.Usage.Running, n.Quota.Running), stored, n.Description)
		}
		t.flush()
	})
}
