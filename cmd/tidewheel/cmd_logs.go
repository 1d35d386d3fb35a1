package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/tidewheel/tidewheel/client"
	"github.com/tidewheel/tidewheel/engine"
)

func (c *cli) logsCommand() *cobra.Command {
	var follow bool
	var attempt, tail int
	var file string
	cmd := &cobra.Command{
		Use: "logs RUN|JOB", Short: "Print the output of a run",
		Long: `Print the output of a run byte by byte; the name of a job stands for its latest run. With -f it is followed until the
attempt ends. A large output goes into a file with --to, with a progress bar. Where more was printed than was kept, standard
error says so.`,
		Example: "  tidewheel logs nightly-report -f\n  tidewheel logs h5zq3x7rk2mnp4ab-s1767229200000 --tail 100",
		Args:    cobra.ExactArgs(1),
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
			run, err := c.runOrLatest(cmd.Context(), api, args[0])
			if err != nil {
				return err
			}
			if follow {
				return c.follow(cmd.Context(), api, run, attempt, c.out)
			}
			return c.copyLog(cmd.Context(), api, run, client.LogOptions{Attempt: attempt, Tail: tail}, file)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "follow the output until the attempt ends")
	cmd.Flags().IntVar(&attempt, "attempt", 0, "which attempt (default the latest)")
	cmd.Flags().IntVar(&tail, "tail", 0, "only so many lines from the end")
	cmd.Flags().StringVar(&file, "to", "", "write into this file")
	cmd.MarkFlagsMutuallyExclusive("follow", "tail")
	cmd.MarkFlagsMutuallyExclusive("follow", "to")
	return cmd
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

// follow prints an attempt's output until the attempt has ended. When the connection breaks it goes on from where it
// was, so that nothing is lost or printed twice.
func (c *cli) follow(ctx context.Context, api *client.Client, run string, attempt int, w io.Writer) error {
	if err := c.awaitStart(ctx, api, run, attempt); err != nil {
		return err
	}
	var offset int64
	began := false
	for {
		log, err := api.Logs(ctx, run, client.LogOptions{Attempt: attempt, Offset: offset, Follow: true})
		if err == nil {
			began = true
			attempt = log.Attempt
			var n int64
			n, err = io.Copy(w, log)
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

// awaitStart returns once the attempt (0: the latest) is not waiting any more: only then is there somebody to ask for
// its output.
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
