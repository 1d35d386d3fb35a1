package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
)

func (c *cli) deadLettersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "dlq", Aliases: []string{"dead-letters"}, Short: "Manage dead letters: runs that failed all their attempts",
		Long: `Manage dead letters: runs that used up their retries. Each stays until it is replayed, which gives its run
another attempt with its attempts counted from zero, or purged, which leaves the run in the history. Replaying a task resumes its wave: all that failed there is run again.`,
		Example: "  tidewheel dlq ls --job nightly-report\n  tidewheel dlq replay --all --job etl\n  tidewheel dlq purge RUN",
	}
	var limit int
	var job string
	list := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the dead letters", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.listDeadLetters(cmd.Context(), job, limit) },
	}
	list.Flags().IntVar(&limit, "limit", defaultLimit, "how many at most; 0 is all")
	list.Flags().StringVar(&job, "job", "", ofThisJob)
	show := &cobra.Command{
		Use: "show RUN", Short: "Show why a run failed", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.showDeadLetter(cmd.Context(), args[0]) },
	}
	cmd.AddCommand(list, show,
		c.deadLetterChange(letterChange{
			word: "replay", short: "Try dead runs again", one: "is tried again", many: "are tried again",
			single: func(ctx context.Context, api *client.Client, id string) error {
				_, err := api.ReplayDeadLetter(ctx, id)
				return err
			},
			all: (*client.Client).ReplayDeadLetters,
		}),
		c.asksFirst(c.deadLetterChange(letterChange{
			word: "purge", short: "Remove dead letters; the runs stay in the history", one: "is purged", many: "are purged",
			single: func(ctx context.Context, api *client.Client, id string) error { return api.PurgeDeadLetter(ctx, id) },
			all:    (*client.Client).PurgeDeadLetters,
		}), "Purge these dead letters %s?"))
	return cmd
}

const ofThisJob = "those of this job; of a DAG for all its tasks, or DAG/TASK"

// letterChange is what can be done to some dead letters or to all.
type letterChange struct {
	word, short string
	one, many   string // said of what it was done to
	single      func(context.Context, *client.Client, string) error
	all         func(*client.Client, context.Context, wire.DeadLetterSelection) (wire.DeadLettersHandled, error)
}

func (c *cli) deadLetterChange(change letterChange) *cobra.Command {
	var all bool
	var job string
	cmd := &cobra.Command{
		Use: change.word + " RUN...|--all", Short: change.short, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, ids []string) error {
			if all == (len(ids) > 0) {
				return usage("name the runs, or say --all")
			}
			if job != "" && !all {
				return usage("--job goes with --all")
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			if all {
				return c.changeAllLetters(cmd.Context(), api, job, change)
			}
			for i := range ids {
				if ids[i], err = c.letterID(cmd.Context(), api, ids[i]); err != nil {
					return err
				}
			}
			for _, id := range ids {
				if err := change.single(cmd.Context(), api, id); err != nil {
					return err
				}
				if c.output == "table" {
					fmt.Fprintf(c.out, "Run %s %s.\n", id, change.one)
				}
			}
			return c.print(map[string]any{"items": ids}, func(io.Writer) {})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all of them")
	cmd.Flags().StringVar(&job, "job", "", "with --all: "+ofThisJob)
	return cmd
}

// letterID returns the id of the dead run that a word names: an id, or the beginning of one.
func (c *cli) letterID(ctx context.Context, api *client.Client, word string) (string, error) {
	_, missing := api.DeadLetter(ctx, word)
	if !absent(missing) {
		return word, missing
	}
	id, err := c.runID(ctx, api, word)
	if absent(err) {
		err = missing
	}
	return id, err
}

// changeAllLetters does the same to all dead letters that have died until now, however many requests that takes. Those
// that are refused do not keep the others back; the exit status reports that there were some.
func (c *cli) changeAllLetters(ctx context.Context, api *client.Client, job string, change letterChange) error {
	total := wire.DeadLettersHandled{Items: []string{}, Refused: []wire.DeadLetterRefused{}}
	which := wire.DeadLetterSelection{Job: job}
	for again := true; again; again = which.Cursor != "" {
		handled, err := change.all(api, ctx, which)
		if err != nil {
			return err
		}
		total.Items, total.Refused = append(total.Items, handled.Items...), append(total.Refused, handled.Refused...)
		which.Cursor = handled.Next
	}
	if len(total.Items)+len(total.Refused) == 0 {
		if err := c.explainNoLetters(ctx, api, job); err != nil {
			return err
		}
	}
	err := c.print(total, func(w io.Writer) {
		switch n := len(total.Items); {
		case n == 1:
			fmt.Fprintf(w, "Run %s %s.\n", total.Items[0], change.one)
		case n > 1:
			fmt.Fprintf(w, "%d runs %s.\n", n, change.many)
		case len(total.Refused) == 0:
			fmt.Fprintln(w, "There are no dead letters"+ofJob(job)+".")
		}
		for _, r := range total.Refused {
			fmt.Fprintf(w, "Not run %s of %s: %s.\n", r.ID, r.Job, r.Detail)
		}
	})
	if n := len(total.Refused); n > 0 && err == nil {
		return &outcomeError{}
	}
	return err
}

func ofJob(job string) string {
	if job == "" {
		return ""
	}
	return " of " + job
}

// showDeadLetter prints why a run failed.
func (c *cli) showDeadLetter(ctx context.Context, id string) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	if id, err = c.letterID(ctx, api, id); err != nil {
		return err
	}
	letter, err := api.DeadLetter(ctx, id)
	if err != nil {
		return err
	}
	return c.print(letter, func(w io.Writer) {
		t := newTable(w)
		t.field("Run", letter.ID)
		t.field("Of", letter.Job)
		t.field("Died", stamp(letter.At)+", "+c.ago(letter.At))
		t.field("Attempts", letter.Attempts)
		t.field("Error", letter.Error)
		t.flush()
		fmt.Fprintf(w, "\nSee all of it with `tidewheel describe run %[1]s` and `tidewheel logs %[1]s`.\n", letter.ID)
	})
}
