package main

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/signing"
)

func (c *cli) taskKeyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "task-key", Short: "Make the keys that engines sign tasks with",
		Long: `Make the keys that engines sign tasks with, for --task-keys-file. Engines that share a store and are given no key make one
themselves, and leave its public part in their data folders as ` + publicTaskKeys + `. Engines need the private key, executors
the public one. To rotate: add the new public key to the executors' file, then put the new private key first in the engines' file.`,
		Example: "  tidewheel task-key new > engines.pem\n  tidewheel task-key public engines.pem > executors.pem",
	}
	cmd.AddCommand(&cobra.Command{
		Use: "new", Short: "Print a new private key, for engines", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.noOutput(cmd, "task-key prints the text of a file"); err != nil {
				return err
			}
			keys, err := signing.NewKeys()
			if err != nil {
				return err
			}
			text, err := keys.PrivateText()
			if err != nil {
				return err
			}
			_, err = c.out.Write(text)
			return err
		},
	}, &cobra.Command{
		Use: "public FILE|-", Short: "Print the public parts of the keys in a file, for executors", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.noOutput(cmd, "task-key prints the text of a file"); err != nil {
				return err
			}
			text, err := c.readKeys(args[0])
			if errors.Is(err, fs.ErrNotExist) {
				return usage("there is no file %s", args[0])
			}
			if err != nil {
				return usage("%w", err)
			}
			keys, err := signing.ParseKeys(text)
			if err != nil {
				return usage("%s: %w", args[0], err)
			}
			public, err := keys.PublicText()
			if err != nil {
				return err
			}
			_, err = c.out.Write(public)
			return err
		},
	})
	return cmd
}

// readKeys reads a file, or standard input for "-".
func (c *cli) readKeys(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(c.in)
	}
	return os.ReadFile(path)
}
