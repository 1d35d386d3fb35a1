package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/secret"
)

func (c *cli) secretCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "secret", Aliases: []string{"secrets"}, Short: "Store values that programs need and no user can read",
		Long: `Keep passwords, tokens and keys that programs need. A value is given to the programs whose definitions ask for it, as an environment
variable (secrets: {DB_PASSWORD: reporting-db}), and can be read nowhere: not here, not in the API, not in the output of a run.`,
		Example: "  tidewheel secret set reporting-db\n  tidewheel secret set deploy-key < id_ed25519\n  tidewheel secret ls",
	}
	var limit int
	list := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the secrets, without their values", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listSecrets(cmd, limit) },
	}
	list.Flags().IntVar(&limit, "limit", 0, "how many at most; 0 is all")
	set := &cobra.Command{
		Use: "set NAME", Short: "Give a secret a value, which is read from standard input", Args: cobra.ExactArgs(1),
		Long: `Give a secret a value, which is read from standard input; a terminal does not show it. One line end at the end of the value is left
out. Runs that are queued from now on are given the new value.`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.setSecret(cmd, args[0]) },
	}
	var force bool
	remove := c.asksFirst(&cobra.Command{
		Use: "rm NAME", Aliases: []string{"delete"}, Short: "Delete a secret that no definition refers to", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			if err := api.DeleteSecret(cmd.Context(), args[0], force); err != nil {
				return err
			}
			return c.print(map[string]any{"name": args[0], "deleted": true}, func(w io.Writer) { fmt.Fprintf(w, "Secret %s is deleted.\n", args[0]) })
		},
	}, "Delete the secret %s?")
	remove.Flags().BoolVar(&force, "force", false, "also one that definitions refer to: their runs fail then")
	rotate := &cobra.Command{
		Use: "rotate-key", Short: "Create a new key, and reseal all secrets", Args: cobra.NoArgs,
		Long: `Create a new key in the server's data folder, and reseal the secrets of all namespaces. Runs continue meanwhile. Where several
nodes share a key, the server refuses and says how to rotate it.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			rotated, err := api.RotateSecretsKey(cmd.Context())
			if err != nil {
				return err
			}
			return c.print(rotated, func(w io.Writer) {
				fmt.Fprintf(w, "%d secrets are resealed, for %s. Make a copy of the new secrets.key.\n", rotated.Resealed, rotated.Recipient)
			})
		},
	}
	cmd.AddCommand(set, list, remove, rotate, c.newKeyCommand())
	return cmd
}

func (c *cli) newKeyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "new-key", Short: "Print a new key of secrets, for --secrets-key-file", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.noOutput(cmd, "new-key prints the text of a file"); err != nil {
				return err
			}
			key, err := secret.NewKey()
			if err != nil {
				return err
			}
			_, err = c.out.Write(key.Text())
			return err
		},
	}
}

func (c *cli) setSecret(cmd *cobra.Command, name string) error {
	value, _, err := c.readHidden("Value of the secret "+name+" (it is not shown): ", secret.MaxValue)
	if err != nil {
		return err
	}
	api, err := c.client()
	if err != nil {
		return err
	}
	set, err := api.SetSecret(cmd.Context(), name, string(value))
	if err != nil {
		return err
	}
	return c.print(set, func(w io.Writer) {
		if set.Version == 1 {
			fmt.Fprintf(w, "Secret %s is set.\n", name)
		} else {
			fmt.Fprintf(w, "Secret %s is set, for the %s time.\n", name, ordinal(set.Version))
		}
		if len(value) < secret.LeastMasked {
			fmt.Fprintf(w, "Its value is so short that it is not masked in the output of runs: use %d bytes or more.\n", secret.LeastMasked)
		}
	})
}

// ordinal is 2nd, 3rd, 4th….
func ordinal(n int64) string {
	end := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			end = "st"
		case 2:
			end = "nd"
		case 3:
			end = "rd"
		}
	}
	return fmt.Sprint(n, end)
}

// readHidden reads a text from a terminal without showing it, and reports then that it has asked; or from what is piped in, of
// which it takes little more than most bytes.
func (c *cli) readHidden(question string, most int64) (text []byte, asked bool, err error) {
	if file, ok := c.in.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		fmt.Fprint(c.err, question)
		text, err := term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(c.err)
		if err != nil {
			return nil, true, fmt.Errorf("read from the terminal: %w", err)
		}
		return text, true, nil
	}
	text, err = io.ReadAll(io.LimitReader(c.in, most+3))
	if err != nil {
		return nil, false, fmt.Errorf("read standard input: %w", err)
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r")), false, nil
}

func (c *cli) listSecrets(cmd *cobra.Command, limit int) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	secrets, next, err := collect(limit, func(page client.Page) (wire.List[wire.Secret], error) { return api.Secrets(cmd.Context(), page) })
	if err != nil {
		return err
	}
	if len(secrets) == 0 && c.output == "table" {
		fmt.Fprintln(c.err, "There are no secrets. Set one with `tidewheel secret set NAME`.")
	}
	return c.printList(secrets, next, func(w io.Writer) {
		if len(secrets) == 0 {
			return
		}
		t := newTable(w, "NAME", "VERSION", "SET", "BY")
		for i := range secrets {
			s := &secrets[i]
			t.row(s.Name, s.Version, c.ago(s.UpdatedAt), s.UpdatedBy)
		}
		t.flush()
	})
}
