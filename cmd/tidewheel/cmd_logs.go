package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
)

func (c *cli) logsCommand() *cobra.Command {
	var follow, timestamps bool
	var attempt, tail int
	var file, text, since, until string
	cmd := &cobra.Command{
		Use: "logs RUN|JOB|DAG/TASK|DAG|WAVE", Short: "Print the output of a run",
		Long: `Print the output of a run byte by byte; the name of a job, or of a task as DAG/TASK, stands for its latest run. A wave, or a DAG for its
latest wave, is printed task by task. With -f a run is followed until the attempt ends. A large output goes into a file with --to, with a progress bar. Where more was printed than was kept, standard
error says so. With --since or --until, --search looks through all runs of a job, a DAG or a task that were made in that time, the newest first.`,
		Example: "  tidewheel logs nightly-report -f\n  tidewheel logs h5zq3x7rk2mnp4ab-s1767229200000 --tail 100",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: c.complete(1, namedJob, namedDAG, namedRun),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("attempt") && attempt < 1 || cmd.Flags().Changed("tail") && tail < 1 {
				return usage("--attempt and --tail count from 1")
			}
			if err := c.noOutput(cmd, "what a run printed comes as it is"); err != nil {
				return err
			}
			api, err := c.client()
			if err != nil {
				return err
			}
			if since != "" || until != "" {
				if text == "" || attempt > 0 {
					return usage("--since and --until are for --search, without --attempt")
				}
				return c.searchRuns(cmd.Context(), api, args[0], text, since, until)
			}
			run, wave, err := c.outputOf(cmd.Context(), api, args[0])
			if err != nil {
				return err
			}
			if wave != "" {
				if follow || attempt > 0 || file != "" || text != "" {
					return usage("wave %s has the output of several tasks: for --follow, --attempt, --search and --to name one of them, as DAG/TASK", wave)
				}
				return c.copyLogsOfWave(cmd.Context(), api, wave, client.LogOptions{Tail: tail, Timestamps: timestamps})
			}
			if text != "" {
				return c.searchLog(cmd.Context(), api, run, client.LogSearch{Attempt: attempt, Text: text})
			}
			if follow {
				return c.follow(cmd.Context(), api, run, attempt, c.out, timestamps)
			}
			return c.copyLog(cmd.Context(), api, run, client.LogOptions{Attempt: attempt, Tail: tail, Timestamps: timestamps}, file)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow the output until the attempt ends")
	cmd.Flags().IntVar(&attempt, "attempt", 0, "which attempt (default the latest)")
	cmd.Flags().IntVar(&tail, "tail", 0, "only so many lines from the end")
	cmd.Flags().BoolVarP(&timestamps, "timestamps", "t", false, "before each line its time and, where a job says stderr: marked, its stream")
	cmd.Flags().StringVar(&file, "to", "", "write into this file")
	cmd.Flags().StringVar(&text, "search", "", "only lines with this text, with their numbers; case is ignored")
	cmd.Flags().StringVar(&since, "since", "", "with --search: in all runs made since then: 24h, 7d or a time")
	cmd.Flags().StringVar(&until, "until", "", "with --search: in all runs made before then")
	cmd.MarkFlagsMutuallyExclusive("search", "follow", "tail", "to")
	cmd.MarkFlagsMutuallyExclusive("search", "timestamps")
	cmd.MarkFlagsMutuallyExclusive("follow", "tail")
	cmd.MarkFlagsMutuallyExclusive("follow", "to")
	return cmd
}

// outputOf returns the run whose output a word stands for, or the wave.
func (c *cli) outputOf(ctx context.Context, api *client.Client, word string) (run, wave string, err error) {
	kind, name := namedKind(""), word
	for _, stated := range []namedKind{namedJob, namedDAG} {
		if rest, found := strings.CutPrefix(word, string(stated)+"/"); found {
			kind, name = stated, rest
		}
	}
	dag, task, isTask := strings.Cut(name, "/")
	switch {
	case kind != namedJob && isTask:
		if _, err := api.DAG(ctx, dag); err != nil {
			return "", "", err
		}
		run, err = latestRun(ctx, api, client.RunFilter{DAG: dag, Task: task})
		return run, "", err
	case kind == "":
		if _, err := api.Run(ctx, word); !absent(err) {
			return word, "", err
		}
	}
	kind, name, unknown := c.which(ctx, api, word)
	switch {
	case unknown == nil && kind == namedJob:
		run, err = latestRun(ctx, api, client.RunFilter{Job: name})
		return run, "", err
	case unknown == nil:
		wave, err = latestWave(ctx, api, name)
		return "", wave, err
	case !isRefused(unknown):
		return "", "", unknown
	}
	run, wave, err = c.runOrWave(ctx, api, word)
	if isRefused(err) {
		err = &refusedError{fmt.Sprintf("there is no run, wave, job or DAG %q", word)}
	}
	return run, wave, err
}

func latestWave(ctx context.Context, api *client.Client, dag string) (string, error) {
	waves, err := api.Waves(ctx, client.WaveFilter{DAG: dag, Page: client.Page{Limit: 10}})
	if err != nil {
		return "", err
	}
	for i := range waves.Items {
		if !waves.Items[i].StartedAt.IsZero() {
			return waves.Items[i].ID, nil
		}
	}
	return "", &refusedError{fmt.Sprintf("no wave of DAG %q has begun yet: start one with `tidewheel run %[1]s`", dag)}
}

// copyLogsOfWave prints the output of each run of a wave below its name, in the order in which they began.
func (c *cli) copyLogsOfWave(ctx context.Context, api *client.Client, id string, options client.LogOptions) error {
	wave, err := api.Wave(ctx, id)
	if err != nil {
		return err
	}
	runs, err := runsOfWave(ctx, api, &wave)
	if err != nil {
		return err
	}
	for i := range runs {
		if i > 0 {
			fmt.Fprintln(c.out)
		}
		fmt.Fprintf(c.out, "==> %s, run %s, %s <==\n", runLabel(&runs[i]), runs[i].ID, c.runStatus(&runs[i]))
		if err := c.copyLog(ctx, api, runs[i].ID, options, ""); err != nil {
			return err
		}
	}
	return nil
}

// runsOfWave returns the runs of a wave that have begun.
func runsOfWave(ctx context.Context, api *client.Client, wave *wire.WaveDetail) (runs []wire.Run, err error) {
	filter := client.RunFilter{DAG: wave.DAG, Since: wave.CreatedAt}
	all, _, err := collect(0, func(page client.Page) (wire.List[wire.Run], error) {
		filter.Page = page
		return api.Runs(ctx, filter)
	})
	for i := range all {
		if all[i].Wave == wave.ID && all[i].Attempt > 0 && !began(&all[i]).IsZero() {
			runs = append(runs, all[i])
		}
	}
	slices.SortStableFunc(runs, func(a, b wire.Run) int { return began(&a).Compare(began(&b)) })
	return runs, err
}

func (c *cli) copyLog(ctx context.Context, api *client.Client, run string, options client.LogOptions, file string) error {
	log, err := api.Logs(ctx, run, options)
	if err != nil {
		return err
	}
	defer log.Close()
	if file == "" {
		if _, err := io.Copy(c.out, log); err != nil {
			return fmt.Errorf("read the output of run %s: %w", run, err)
		}
	} else if err := c.save(file, "output of "+run, log.Size, log); err != nil {
		return err
	}
	if log.Missing != "" {
		fmt.Fprintf(c.err, "This is not the whole output: %s.\n", log.Missing)
		return nil
	}
	c.sayCut(ctx, api, run, log.Attempt)
	return nil
}

// searchLog prints the lines of an output in which a text is found; none is exit status 1, as with grep.
func (c *cli) searchLog(ctx context.Context, api *client.Client, run string, search client.LogSearch) error {
	found := false
	for {
		matches, err := api.SearchLogs(ctx, run, search)
		if err != nil {
			return err
		}
		for _, match := range matches.Items {
			found = true
			fmt.Fprintf(c.out, "%d: %s\n", match.Line, printable(match.Text))
		}
		if search.From = matches.Next; search.From == "" {
			break
		}
	}
	if !found {
		return &outcomeError{fmt.Sprintf("%q is not in the output of run %s", search.Text, run)}
	}
	return nil
}

// searchRuns prints the lines with a text in the outputs of all runs of a job, a DAG or a task that were made in a stretch of time.
func (c *cli) searchRuns(ctx context.Context, api *client.Client, word, text, since, until string) (err error) {
	search := client.RunSearch{Text: text}
	if search.Since, err = parseSince(since, c.now()); err != nil {
		return usage("--since: %w", err)
	}
	if search.Until, err = parseSince(until, c.now()); err != nil {
		return usage("--until: %w", err)
	}
	if dag, task, isTask := strings.Cut(word, "/"); isTask && dag != string(namedJob) && dag != string(namedDAG) {
		search.DAG, search.Task = dag, task
	} else if kind, name, err := c.which(ctx, api, word); err != nil {
		return err
	} else if kind == namedDAG {
		search.DAG = name
	} else {
		search.Job = name
	}
	runs, found := 0, false
	for {
		answer, err := api.SearchRuns(ctx, search)
		if err != nil {
			return err
		}
		runs += answer.Runs
		for i := range answer.Items {
			item := &answer.Items[i]
			found = true
			fmt.Fprintf(c.out, "==> run %s, %s, %s, attempt %d <==\n", item.Run, item.Created.Local().Format(time.DateTime), item.Status, item.Attempt)
			for _, match := range item.Lines {
				fmt.Fprintf(c.out, "%d: %s\n", match.Line, printable(match.Text))
			}
			if item.More {
				fmt.Fprintf(c.out, "there may be more: tidewheel logs %s --attempt %d --search %q\n", item.Run, item.Attempt, text)
			}
		}
		if search.Cursor = answer.Next; search.Cursor == "" {
			break
		}
	}
	if !found {
		return &outcomeError{fmt.Sprintf("%q is not in the outputs of the %d runs of %s in that time", text, runs, word)}
	}
	return nil
}

// sayCut reports whether an attempt printed more than was kept of it. Where that cannot be found out nothing is said: the
// output itself is there.
func (c *cli) sayCut(ctx context.Context, api *client.Client, id string, n int) {
	run, err := api.Run(ctx, id)
	if err != nil || n < 1 || n > len(run.Attempts) {
		return
	}
	output := run.Attempts[n-1].Output
	if output == nil {
		return
	}
	if output.Lost > 0 {
		fmt.Fprintf(c.err, "%s could not be stored: S3 did not take them in time.\n", bytesOf(output.Lost))
	}
	if output.Truncated > 0 {
		fmt.Fprintf(c.err, "%s more were printed and not kept: the job's limits.output says how much is.\n", bytesOf(output.Truncated))
	}
}

// follow prints an attempt's output until the attempt has ended. When the connection breaks it continues from where it
// was, so that nothing is lost or printed twice.
func (c *cli) follow(ctx context.Context, api *client.Client, run string, attempt int, w io.Writer, timestamps bool) error {
	copied := io.Copy
	if timestamps {
		copied = copyStamped
	}
	if err := c.awaitStart(ctx, api, run, attempt); err != nil {
		return err
	}
	var offset int64
	began := false
	for {
		log, err := api.Logs(ctx, run, client.LogOptions{Attempt: attempt, Offset: offset, Follow: true, Timestamps: timestamps})
		if err == nil {
			began = true
			attempt = log.Attempt
			var n int64
			n, err = copied(w, log)
			offset += n
			_ = log.Close() // it was read to its end, or given up
			if err == nil {
				c.sayCut(ctx, api, run, attempt)
				return nil
			}
		}
		if !errors.Is(err, client.ErrUnreachable) || !began {
			return err
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// copyStamped copies whole lines that have stamps, and returns how many bytes of the output itself they are: from there it continues.
func copyStamped(w io.Writer, log io.Reader) (n int64, err error) {
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return n, err
		}
		if _, failed := w.Write(line); failed != nil {
			return n, failed
		}
		if parts := bytes.SplitN(line, []byte{' '}, 3); len(parts) == 3 {
			n += int64(len(parts[2]))
		}
		if err != nil {
			return n, nil
		}
	}
}

// awaitStart returns once the attempt (0: the latest) no longer waits: before that no executor has its output.
func (c *cli) awaitStart(ctx context.Context, api *client.Client, id string, attempt int) error {
	for {
		run, err := api.Run(ctx, id)
		if err != nil {
			return err
		}
		waits := run.Status == engine.StatusScheduled || run.Status == engine.StatusQueued
		if !waits || (attempt > 0 && attempt < run.Attempt) {
			return nil
		}
		if err := pause(ctx, awaitEvery); err != nil {
			return err
		}
	}
}

// save writes what comes into a file, which appears whole or not at all.
func (c *cli) save(path, what string, size int64, content io.Reader) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), temporaryPrefix+"*")
	if err != nil {
		return usage("%s cannot be written: %w", path, err)
	}
	defer os.Remove(temporary.Name())
	bar := c.progress(what, size)
	_, err = io.Copy(temporary, bar.reader(content))
	bar.finish(err)
	if err := errors.Join(err, temporary.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Chmod(temporary.Name(), 0o644); err != nil { //nolint:gosec // as a file that the shell makes by > has
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(temporary.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
