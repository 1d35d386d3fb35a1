package main

import (
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/spec"
)

func (c *cli) scalingCommand() *cobra.Command {
	var least, most, slots int
	var within time.Duration
	cmd := &cobra.Command{
		Use: "scaling", Short: "Show how many executors each tier needs",
		Long: `Show how many executors each tier needs, and why: for what waits, for how long, what runs, and how long runs take on average.
An autoscaler finds the same at /api/v1/scaling, and in the metric tidewheel_executors_wanted.`,
		Example: "  tidewheel scaling\n  tidewheel scaling --max 20 --within 30s -o json", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			bounds := url.Values{}
			for name, value := range map[string]string{"min": strconv.Itoa(least), "max": strconv.Itoa(most), "slots": strconv.Itoa(slots), "within": within.String()} {
				if cmd.Flags().Changed(name) {
					bounds.Set(name, value)
				}
			}
			scaling, err := api.Scaling(cmd.Context(), bounds)
			if err != nil {
				return err
			}
			return c.print(scaling, func(w io.Writer) {
				t := newTable(w, "TIER", "WANTED", "ALIVE", "WAITING", "BUSY", "WHY")
				for _, tier := range []spec.Tier{spec.TierLight, spec.TierMedium, spec.TierHeavy} {
					s := scaling.Tiers[tier]
					t.row(tier, s.Wanted, s.Alive, s.Waiting, s.Busy, s.Why)
				}
				t.flush()
			})
		},
	}
	cmd.Flags().IntVar(&least, "min", 0, "never want fewer executors of a tier")
	cmd.Flags().IntVar(&most, "max", 0, "never want more executors of a tier; 0 is any number")
	cmd.Flags().IntVar(&slots, "slots", 0, "slots of an executor that would be started; 0: as many as those that are alive have")
	cmd.Flags().DurationVar(&within, "within", time.Minute, "how long a run may wait for an executor")
	return cmd
}
