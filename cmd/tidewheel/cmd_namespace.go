package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client/wire"
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
	set := &cobra.Command{
		Use: "set NAME", Short: "Describe a namespace", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("description") {
				return usage("say what to set: --description TEXT")
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			changed, err := api.SetNamespace(cmd.Context(), args[0], wire.NamespaceSettings{Description: description})
			if err != nil {
				return err
			}
			return c.print(changed, func(w io.Writer) { fmt.Fprintf(w, "Namespace %s is changed.\n", changed.Name) })
		},
	}
	for _, with := range []*cobra.Command{create, set} {
		with.Flags().StringVar(&description, "description", "", "what it is for")
	}
	remove := &cobra.Command{
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
	}
	list := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the namespaces in which you have a role", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listNamespaces(cmd) },
	}
	cmd.AddCommand(create, list, set, remove, c.memberCommand())
	return cmd
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
		t := newTable(w, "NAME", "YOUR ROLE", "DESCRIPTION")
		for i := range namespaces.Items {
			n := &namespaces.Items[i]
			t.row(n.Name, n.Role, n.Description)
		}
		t.flush()
	})
}
