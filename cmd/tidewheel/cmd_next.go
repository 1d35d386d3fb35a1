package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
)

func (c *cli) nextCommand() *cobra.Command {
	var n int
	var zone, after string
	cmd := &cobra.Command{
		Use:   "next SCHEDULE|JOB|DAG",
		Short: "Show the next slots of a schedule, job or DAG",
		Long: `Show when a schedule or a job fires next. A schedule is read here, without a server: what has blanks in it or begins
with @ is one, a single word is the name of a job or DAG. Hours that a change of the clock leaves out or repeats are explained in
words.`,
		Example: `  tidewheel next "0 3 * * *" --tz Europe/Berlin
  tidewheel next "30 2 * * *" --tz Europe/Berlin --after 2026-03-28 -c 3
  tidewheel next "@every 90s"
  tidewheel next nightly-report -o json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.TrimSpace(strings.Join(args, " ")) // a schedule without quotes comes as many words
			if text == "" {
				return usage("which schedule or job? Write one such as \"0 3 * * *\" or @daily, or the name of a job")
			}
			if n < 1 || n > 1000 {
				return usage("--count %d: ask for 1 to 1000", n)
			}
			schedule := strings.ContainsAny(text, " \t") || strings.HasPrefix(text, "@")
			location := time.UTC
			if zone != "" {
				if !schedule {
					return usage("--tz is for a schedule: a job has a zone of its own")
				}
				loaded, err := time.LoadLocation(zone)
				if err != nil || zone == "Local" {
					return usage("--tz: %q is no time zone: write an IANA name such as Europe/Berlin", zone)
				}
				location = loaded
			}
			var from time.Time
			if after != "" {
				var err error
				if from, err = parseInstant(after, location); err != nil {
					return usage("--after: %w", err)
				}
			}
			if schedule {
				preview, err := c.previewSchedule(text, zone, from, n)
				if err != nil {
					return err
				}
				return c.printPreview(preview)
			}
			return c.nextOf(cmd.Context(), text, from, n)
		},
	}
	cmd.Flags().IntVarP(&n, "count", "c", 10, "how many slots")
	cmd.Flags().StringVar(&zone, "tz", "", "time zone of a schedule, such as Europe/Berlin (default UTC)")
	cmd.Flags().StringVar(&after, "after", "", "slots after this time (default now)")
	return cmd
}

// previewSchedule does what the engine does with the same schedule.
func (c *cli) previewSchedule(text, zone string, after time.Time, n int) (wire.Preview, error) {
	now := c.now()
	if after.IsZero() {
		after = now
	}
	schedule, err := cron.Compile(cron.Definition{
		Cron: []string{text}, Timezone: zone, Key: engine.DefaultNamespace + "/" + text, Since: after,
		Anchor: now.UTC().Truncate(time.Second),
	})
	var faults cron.Errors
	switch {
	case errors.As(err, &faults):
		messages := make([]string, len(faults))
		for i, fault := range faults {
			messages[i] = fault.Message
		}
		reason := strings.Join(messages, "; ")
		if quoted := strconv.Quote(text); !strings.Contains(reason, quoted) { // most faults do not repeat what they are about
			reason = quoted + ": " + reason
		}
		return wire.Preview{}, &refusedError{reason}
	case err != nil:
		return wire.Preview{}, err
	}
	preview := wire.Preview{Items: []wire.Slot{}, Description: schedule.Describe()}
	for _, slot := range schedule.Preview(after, n) {
		preview.Items = append(preview.Items, wire.Slot{Slot: slot.Slot, Local: slot.Local, Note: slot.Note})
	}
	return preview, nil
}

func (c *cli) nextOf(ctx context.Context, word string, after time.Time, n int) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	kind, name, err := c.which(ctx, api, word)
	if err != nil {
		return err
	}
	if kind == namedJob {
		preview, err := api.NextSlots(ctx, name, after, n)
		if err != nil {
			return err
		}
		return c.printPreview(preview)
	}
	preview, err := api.NextDAGSlots(ctx, name, after, n)
	if err != nil {
		return err
	}
	return c.print(preview, func(w io.Writer) {
		if len(preview.Roots) == 0 {
			fmt.Fprintln(w, "It has no schedule: its waves start manually.")
			return
		}
		for _, root := range preview.Roots {
			fmt.Fprintf(w, "%s: %s\n", root.Root, root.Description)
		}
		t := newTable(w, "ROOT", "LOCAL", "SLOT (UTC)", "WHEN", "NOTE")
		for _, slot := range preview.Items {
			t.row(slot.Root, slot.Local.Format("Mon 2006-01-02 15:04:05 -07:00"), stamp(slot.Slot.Slot), c.ago(slot.Slot.Slot), slot.Note)
		}
		t.flush()
	})
}

func (c *cli) printPreview(preview wire.Preview) error {
	return c.print(preview, func(w io.Writer) {
		fmt.Fprintln(w, preview.Description)
		if len(preview.Items) == 0 {
			fmt.Fprintln(w, "It has no upcoming slots.")
			return
		}
		t := newTable(w, "LOCAL", "SLOT (UTC)", "WHEN", "NOTE")
		for _, slot := range preview.Items {
			t.row(slot.Local.Format("Mon 2006-01-02 15:04:05 -07:00"), stamp(slot.Slot), c.ago(slot.Slot), slot.Note)
		}
		t.flush()
	})
}
