package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/queue/jetstream"
)

// executorNATSCommand makes what a NATS of one's own needs so that executors can be enrolled.
func (c *cli) executorNATSCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use: "nats-operator --out FOLDER", Short: "Make an operator and an account for a NATS of yours, so that executors can be enrolled", Args: cobra.NoArgs,
		Long: `Make an operator and an account for a NATS of yours, so that executors can be enrolled. It asks no server. Of the files, include operator.conf in the
configuration of all servers of the NATS; give account.nk to web nodes by --nats-account-key-file, and engine.creds to engines and web nodes by
--nats-credentials. Both open everything in the account. For more accounts, or a resolver that is changed while it runs, use nsc.`,
		RunE: func(*cobra.Command, []string) error {
			made, err := jetstream.NewOperator()
			if err != nil {
				return err
			}
			if err := os.MkdirAll(out, 0o700); err != nil {
				return usage("--out: %w", err)
			}
			files := []struct {
				Name string `json:"name"`
				For  string `json:"for"`
				text []byte
			}{
				{"account.nk", "--nats-account-key-file of web nodes", append(made.AccountSeed, '\n')},
				{"engine.creds", "--nats-credentials of engines and web nodes", made.Credentials},
				{"operator.conf", "the configuration of the NATS", made.Config},
			}
			for _, file := range files {
				if _, err := os.Stat(filepath.Join(out, file.Name)); err == nil {
					return usage("--out: %s has a file %s: give another folder; nothing was written", out, file.Name)
				}
			}
			for _, file := range files {
				if err := writeFile(filepath.Join(out, file.Name), file.text, 0o600); err != nil {
					return usage("--out: %w", err)
				}
			}
			return c.print(map[string]any{"folder": out, "account": made.Account, "files": files}, func(w io.Writer) {
				for _, file := range files {
					fmt.Fprintf(w, "%s: for %s\n", filepath.Join(out, file.Name), file.For)
				}
			})
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "folder for the files; made if missing")
	_ = cmd.MarkFlagRequired("out")
	return cmd
}
