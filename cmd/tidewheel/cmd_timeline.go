package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/spec"
)

// stripWidth is how many letters a lane has.
const stripWidth = 48

func (c *cli) timelineCommand() *cobra.Command {
	var since, until, text, label, tier string
	var statuses []string
	cmd := &cobra.Command{
		Use: "timeline", Short: "Show what ran and what is to come, by jobs and DAGs",
		Long: `Show what ran and what is to come, one line for each job and DAG. In the strip a # is a run that ended well, ! one that failed, > one that goes
on, - one that was cancelled or skipped, and . a planned slot; | is now. With -o json each run is listed.`,
		Example: "  tidewheel timeline\n  tidewheel timeline --since 24h --until +6h --label team=finance\n  tidewheel timeline --status failed,dead --since 7d", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := parseSince(since, c.now())
			if err != nil {
				return usage("--since: %w", err)
			}
			end, err := parseWhen(until, c.now())
			if err != nil {
				return usage("--until: %w", err)
			}
			if end.IsZero() {
				end = c.now()
			}
			query := url.Values{"from": {from.UTC().Format(time.RFC3339)}, "until": {end.UTC().Format(time.RFC3339)}}
			for name, value := range map[string]string{"q": text, "label": label, "tier": tier} {
				if value != "" {
					query.Set(name, value)
				}
			}
			query["status"] = statuses
			api, err := c.client()
			if err != nil {
				return err
			}
			timeline, err := api.Timeline(cmd.Context(), query)
			if err != nil {
				return err
			}
			return c.print(timeline, func(w io.Writer) { c.tableOfTimeline(w, &timeline) })
		},
	}
	cmd.Flags().StringVar(&since, "since", "6h", "where it begins: 24h, 7d or a time")
	cmd.Flags().StringVar(&until, "until", "+2h", "where it ends: now, +2h or a time")
	cmd.Flags().StringVarP(&text, "search", "q", "", "jobs and DAGs with this text in the name")
	cmd.Flags().StringVar(&label, "label", "", "jobs and DAGs with this label: a key, or key=value")
	cmd.Flags().StringVar(&tier, "tier", "", "runs of this tier")
	cmd.Flags().StringSliceVar(&statuses, "status", nil, "runs with one of these statuses; planned slots are scheduled")
	_ = cmd.RegisterFlagCompletionFunc("status", completeStatuses)
	_ = cmd.RegisterFlagCompletionFunc("tier", cobra.FixedCompletions([]string{"light", "medium", "heavy"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (c *cli) tableOfTimeline(w io.Writer, t *wire.Timeline) {
	fmt.Fprintf(w, "%s to %s\n", stamp(t.From), stamp(t.Until))
	table := newTable(w, "KIND", "NAME", "WHEN", "RUNS", "FAILED", "PLANNED")
	for i := range t.Lanes {
		lane := &t.Lanes[i]
		failed := 0
		for j := range lane.Runs {
			if laneLetter(lane.Runs[j].Status.String()) == '!' {
				failed++
			}
		}
		planned := fmt.Sprint(len(lane.Planned))
		if lane.PlannedMore {
			planned += "+"
		}
		table.row(lane.Kind, lane.Name, c.strip(t, lane), len(lane.Runs), failed, planned)
	}
	table.flush()
	if !t.Reached.IsZero() {
		fmt.Fprintf(w, "Runs made before %s are left out: there are too many. Ask for a shorter span.\n", stamp(t.Reached))
	}
	if t.Next != "" {
		fmt.Fprintf(w, "These are %d of %d lanes: narrow them.\n", len(t.Lanes), t.All)
	}
}

// strip draws a lane by letters.
func (c *cli) strip(t *wire.Timeline, lane *wire.TimelineLane) string {
	letters := []byte(strings.Repeat(" ", stripWidth))
	place := func(at time.Time) int {
		return min(max(int(float64(stripWidth)*float64(at.Sub(t.From))/float64(t.Until.Sub(t.From))), 0), stripWidth-1)
	}
	for _, at := range lane.Planned {
		letters[place(at)] = '.'
	}
	if now := c.now(); now.After(t.From) && now.Before(t.Until) {
		letters[place(now)] = '|'
	}
	for i := range lane.Runs {
		run := &lane.Runs[i]
		end := run.FinishedAt
		if end.IsZero() {
			end = c.now()
		}
		letter := laneLetter(run.Status.String())
		for at := place(run.Due); at <= place(end); at++ {
			if strings.IndexByte(" .|-#>!", letter) > strings.IndexByte(" .|-#>!", letters[at]) {
				letters[at] = letter
			}
		}
	}
	return string(letters)
}

func laneLetter(status string) byte {
	switch status {
	case "succeeded":
		return '#'
	case "failed", "timed_out", "lost", "dead":
		return '!'
	case "cancelled", "skipped":
		return '-'
	}
	return '>'
}

func (c *cli) collisionsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "collisions", Short: "Show when more runs are planned than there are slots",
		Long: `Show the times of the next seven days at which more runs are planned than the executors have slots for, from the schedules and from how long
the last runs took. Counted are jobs and the roots of DAGs of the namespace with cron expressions or intervals; the tasks after the roots, manual
runs and other namespaces are not. "tidewheel spread" spreads them.`,
		Example: "  tidewheel collisions\n  tidewheel collisions -o json", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.client()
			if err != nil {
				return err
			}
			found, err := api.Collisions(cmd.Context())
			if err != nil {
				return err
			}
			return c.print(found, func(w io.Writer) {
				table := newTable(w, "AT", "TIMES", "TIER", "RUNS", "AT ONCE", "SLOTS", "LAST WAITS", "SCHEDULES")
				for i := range found.Items {
					one := &found.Items[i]
					var names []string
					for _, of := range one.Schedules[:min(3, len(one.Schedules))] {
						names = append(names, of.Name)
					}
					if more := len(one.Schedules) + one.More - len(names); more > 0 {
						names = append(names, fmt.Sprintf("%d more", more))
					}
					lag := time.Duration(one.Lag * float64(time.Second))
					table.row(stamp(one.At[0]), len(one.At), one.Tier, one.Runs, one.Peak, one.Capacity, roughly(lag), strings.Join(names, ", "))
				}
				table.flush()
				for _, note := range found.Notes {
					fmt.Fprintln(w, note)
				}
			})
		},
	}
}

func (c *cli) spreadCommand() *cobra.Command {
	var dags []string
	var dryRun bool
	cmd := &cobra.Command{
		Use: "spread [JOB...]", Short: "Spread the schedules of jobs and DAGs by H",
		Long: `Spread schedules: the minute of each becomes H, a stable value of its own, and the hour stays. 0 2 * * * becomes H 2 * * *. Old and new times are
shown before anything is saved; a definition that is changed meanwhile is left as it is.`,
		Example: "  tidewheel spread --dry-run shop-001 shop-002\n  tidewheel spread --yes shop-001 --dag etl", ValidArgsFunction: c.complete(500, namedJob),
	}
	yes := yesFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		request := wire.SpreadRequest{DryRun: true}
		for _, name := range args {
			request.Schedules = append(request.Schedules, wire.SpreadSchedule{Kind: spec.KindJob, Name: name})
		}
		for _, name := range dags {
			request.Schedules = append(request.Schedules, wire.SpreadSchedule{Kind: spec.KindDAG, Name: name})
		}
		if len(request.Schedules) == 0 {
			return usage("name the jobs to spread, or DAGs with --dag")
		}
		return c.spread(cmd.Context(), request, dryRun, *yes)
	}
	cmd.Flags().StringSliceVar(&dags, "dag", nil, "spread this DAG, too")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "show what would become of them, and save nothing")
	c.completeFlag(cmd, "dag", namedDAG)
	return cmd
}

// spread shows what would become of schedules, asks, and saves those that can be spread as they were shown.
func (c *cli) spread(ctx context.Context, request wire.SpreadRequest, dryRun, yes bool) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	results, err := api.Spread(ctx, request)
	if err != nil {
		return err
	}
	ready := slices.DeleteFunc(slices.Clone(results), func(r wire.SpreadResult) bool { return r.Problem != "" })
	if dryRun || len(ready) == 0 {
		return c.printSpread(results, len(ready) < len(results))
	}
	if !yes {
		c.tableOfSpread(c.err, results)
		if err := c.confirm(ctx, fmt.Sprintf("Save %d schedules?", len(ready))); err != nil {
			return err
		}
	}
	request.DryRun, request.Schedules = false, nil
	for i := range ready {
		request.Schedules = append(request.Schedules, wire.SpreadSchedule{Kind: ready[i].Kind, Name: ready[i].Name, ETag: ready[i].ETag})
	}
	saved, err := api.Spread(ctx, request)
	if err != nil {
		return err
	}
	for i := range results {
		if at := slices.IndexFunc(saved, func(r wire.SpreadResult) bool { return r.Name == results[i].Name && r.Kind == results[i].Kind }); at >= 0 {
			results[i] = saved[at]
		}
	}
	return c.printSpread(results, slices.ContainsFunc(results, func(r wire.SpreadResult) bool { return !r.Saved }))
}

func (c *cli) printSpread(results []wire.SpreadResult, failed bool) error {
	if err := c.printList(results, "", func(w io.Writer) { c.tableOfSpread(w, results) }); err != nil {
		return err
	}
	if failed {
		return &outcomeError{"not all could be spread"}
	}
	return nil
}

func (c *cli) tableOfSpread(w io.Writer, results []wire.SpreadResult) {
	table := newTable(w, "KIND", "NAME", "BEFORE", "AFTER", "NEXT BEFORE", "NEXT AFTER", "RESULT")
	for i := range results {
		r := &results[i]
		result := r.Problem
		if result == "" && r.Saved {
			result = "saved"
		}
		table.row(r.Kind, r.Name, strings.Join(r.Before, ", "), strings.Join(r.After, ", "), firstStamp(r.OldNext), firstStamp(r.NewNext), result)
	}
	table.flush()
}

func firstStamp(instants []time.Time) string {
	if len(instants) == 0 {
		return ""
	}
	return stamp(instants[0])
}
