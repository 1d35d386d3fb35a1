package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) binaryDiffCommand() *cobra.Command {
	return &cobra.Command{
		Use: "diff NAME [VERSION [VERSION]]", Short: "Compare two versions of a binary", Args: cobra.RangeArgs(1, 3), ValidArgsFunction: c.complete(1, namedBinary),
		Long: `Compare two versions of a binary: their facts, which jobs run them and, of scripts, the first 5,000 lines of each.
With one version it is compared with the latest, with none the latest with the one before it.`,
		Example: "  tidewheel binary diff report 1 3",
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			a, b, err := versionsToCompare(cmd, api, args)
			if err != nil {
				return err
			}
			diff, err := api.CompareVersions(cmd.Context(), args[0], a, b)
			if err != nil {
				return err
			}
			return c.print(diff, func(w io.Writer) { writeBinaryDiff(w, &diff) })
		},
	}
}

func versionsToCompare(cmd *cobra.Command, api *client.Client, args []string) (a, b int, err error) {
	versions := []int{}
	for _, arg := range args[1:] {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 {
			return 0, 0, usage("%q is no version: versions count 1, 2, 3…", arg)
		}
		versions = append(versions, n)
	}
	if len(versions) == 2 {
		return versions[0], versions[1], nil
	}
	binary, err := api.Binary(cmd.Context(), args[0])
	if err != nil {
		return 0, 0, err
	}
	last := len(binary.Versions) - 1
	switch {
	case len(versions) == 1 && last >= 0:
		return versions[0], binary.Versions[last].N, nil
	case last < 1:
		return 0, 0, usage("binary %s has one version only: there is nothing to compare it with", args[0])
	}
	return binary.Versions[last-1].N, binary.Versions[last].N, nil
}

func writeBinaryDiff(w io.Writer, diff *wire.BinaryDiff) {
	writeFields(w, diff.Fields, fmt.Sprintf("VERSION %d", diff.A.N), fmt.Sprintf("VERSION %d", diff.B.N))
	switch source := &diff.Source; {
	case source.Missing != "":
		fmt.Fprintf(w, "\n%s\n", source.Missing)
	case source.Removed+source.Added > 0:
		fmt.Fprintln(w, "\nSource:")
		writeLines(w, source)
		fallthrough
	default:
		if source.SkippedA+source.SkippedB > 0 {
			fmt.Fprintln(w, "\nOnly the first 5,000 lines of each are compared.")
		}
	}
}
