package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) diffCommand() *cobra.Command {
	var exact bool
	cmd := &cobra.Command{
		Use: "diff [RUN] RUN", Short: "Compare two runs, or a run with the last successful one before it", Args: cobra.RangeArgs(1, 2), ValidArgsFunction: c.complete(2, namedRun),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			for i := range args {
				if args[i] == client.LastGood {
					continue
				}
				if args[i], err = c.runID(cmd.Context(), api, args[i]); err != nil {
					return err
				}
			}
			if len(args) == 1 {
				args = []string{client.LastGood, args[0]}
			}
			diff, err := api.CompareRuns(cmd.Context(), args[0], args[1], exact)
			if err != nil {
				return err
			}
			return c.print(diff, func(w io.Writer) { writeRunDiff(w, &diff) })
		},
	}
	cmd.Flags().BoolVar(&exact, "exact", false, "treat lines of output that differ only in numbers, times or hashes as different")
	return cmd
}

func writeRunDiff(w io.Writer, diff *wire.RunDiff) {
	writeFields(w, diff.Fields, diff.A, diff.B)
	output := &diff.Output
	switch {
	case output.Missing != "":
		fmt.Fprintf(w, "\nThe outputs are not compared: %s\n", output.Missing)
	case output.Removed+output.Added > 0:
		fmt.Fprintln(w, "\nOutput:")
		if skipped := max(output.SkippedA, output.SkippedB); skipped > 0 {
			fmt.Fprintf(w, "  (only the last lines are compared: there are up to %d before them)\n", skipped)
		}
		writeLines(w, output)
	case len(diff.Fields) == 0:
		fmt.Fprintln(w, "No differences.")
	}
}

func writeFields(w io.Writer, fields []wire.FieldDiff, a, b string) {
	if len(fields) == 0 {
		return
	}
	t := newTable(w, "FIELD", a, b)
	for _, field := range fields {
		t.row(field.Field, field.A, field.B)
	}
	t.flush()
}

// writeLines prints two texts as one: what is left only with a minus, what is right only with a plus.
func writeLines(w io.Writer, diff *wire.LineDiff) {
	for i := range diff.Rows {
		writeDiffRow(w, &diff.Rows[i])
	}
}

func writeDiffRow(w io.Writer, row *wire.DiffRow) {
	if row.Kind == "gap" {
		fmt.Fprintf(w, "  … %s alike\n", count(int64(row.Gap), "line"))
		return
	}
	if row.Kind == "same" {
		fmt.Fprintf(w, "  %s\n", printable(row.B))
		return
	}
	if row.LineA > 0 {
		fmt.Fprintf(w, "- %s\n", printable(row.A))
	}
	if row.LineB > 0 {
		fmt.Fprintf(w, "+ %s\n", printable(row.B))
	}
}
