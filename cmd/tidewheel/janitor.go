package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

const (
	janitorFirst = time.Minute // after the start, when there is better to do
	janitorEvery = 10 * time.Minute
	sweepEvery   = 24 * time.Hour
	janitorBatch = 500
	janitorPause = 20 * time.Millisecond // between two batches, at least
	// janitorShare is the part of the time in which old history is removed. Where it comes as fast as that, it piles up
	// until it is janitorLate behind, and from there on is removed in half of the time.
	janitorShare     = 0.1
	janitorLate      = time.Hour
	janitorLateShare = 0.5
)

// knownRuns tells which of some runs exist.
type knownRuns = func(ctx context.Context, runs []string) (map[string]bool, error)

// sweeper removes outputs and artifacts, and what broken uploads have left.
type sweeper interface {
	DeleteLogs(ctx context.Context, run string) error
	DeleteArtifacts(ctx context.Context, run string) error
	SweepUploads(ctx context.Context, age time.Duration) (int, error)
	SweepLogs(ctx context.Context, before time.Time, known knownRuns) (int, error)
	SweepArtifacts(ctx context.Context, before time.Time, known knownRuns) (int, error)
}

// janitor removes history that is older than the retention, a little at a time.
type janitor struct {
	store     expirer
	blobs     sweeper
	retention time.Duration // 0: for ever
	log       *slog.Logger
	metrics   *metrics
	mine      func() bool // whether it is this node's turn: of several engines one does it
	now       func() time.Time
	pause     time.Duration
}

func newJanitor(store expirer, blobs sweeper, retention time.Duration, mine func() bool, log *slog.Logger, metrics *metrics) *janitor {
	return &janitor{store: store, blobs: blobs, retention: retention, mine: mine, log: log, metrics: metrics, now: time.Now, pause: janitorPause}
}

// run works until ctx ends. What fails is tried again the next time.
func (j *janitor) run(ctx context.Context) {
	timer := time.NewTimer(janitorFirst)
	defer timer.Stop()
	var swept time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if !j.mine() {
			timer.Reset(janitorEvery)
			continue
		}
		j.clean(ctx, &swept)
		timer.Reset(janitorEvery)
	}
}

// clean does what is due. swept is when leftovers were looked for last.
func (j *janitor) clean(ctx context.Context, swept *time.Time) {
	if j.now().Sub(*swept) >= sweepEvery {
		*swept = j.now()
		if n, err := j.blobs.SweepUploads(ctx, sweepEvery); err != nil && ctx.Err() == nil {
			j.log.Warn("removing what broken uploads have left failed", "error", err)
		} else if n > 0 {
			j.log.Info("removed what broken uploads had left", "objects", n)
		}
		if err := j.sweepOrphans(ctx); err != nil && ctx.Err() == nil {
			j.log.Warn("removing outputs and artifacts without their runs failed", "error", err)
		}
	}
	if j.retention > 0 {
		if err := j.expire(ctx, j.now().Add(-j.retention)); err != nil && ctx.Err() == nil {
			j.log.Warn("removing old history failed", "error", err)
		}
	}
}

// expire removes the runs that ended before an instant, with their outputs, and the waves and the ledger of that time.
func (j *janitor) expire(ctx context.Context, before time.Time) error {
	removed := 0
	for {
		began := time.Now()
		runs, err := j.store.ExpireRuns(ctx, before, janitorBatch)
		for i := range runs {
			j.deleteLogs(ctx, &runs[i])
			j.deleteArtifacts(ctx, &runs[i])
		}
		removed += len(runs)
		j.metrics.expired.WithLabelValues("run").Add(float64(len(runs)))
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			break
		}
		late := runs[0].FinishedAt.Before(before.Add(-janitorLate))
		if err := j.breathe(ctx, breath(time.Since(began), late)); err != nil {
			return err
		}
	}
	for _, kind := range []struct {
		label  string
		expire func(ctx context.Context, before time.Time, limit int) (int, error)
	}{{"wave", j.store.ExpireWaves}, {"slots", j.store.ExpireSlots}, {"effect", j.store.ExpireEffects}} {
		for {
			began := time.Now()
			n, err := kind.expire(ctx, before, janitorBatch)
			j.metrics.expired.WithLabelValues(kind.label).Add(float64(n))
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			if err := j.breathe(ctx, breath(time.Since(began), false)); err != nil {
				return err
			}
		}
	}
	if removed > 0 {
		j.log.Info("removed old history", "runs", removed, "before", before)
	}
	return nil
}

// deleteLogs removes the output of a run that had any in S3.
func (j *janitor) deleteLogs(ctx context.Context, run *engine.Run) {
	for i := range run.Attempts {
		// An attempt that was lost has no result that tells, and may have stored output all the same.
		if output := run.Attempts[i].Output; output == nil || output.Chunks > 0 {
			if err := j.blobs.DeleteLogs(ctx, run.ID); err != nil {
				j.log.Warn("the output of a removed run could not be removed", "run", run.ID, "error", err)
			}
			return
		}
	}
}

// deleteArtifacts removes the files that a run has left. Those of attempts that did not come to report theirs are found
// by sweepOrphans.
func (j *janitor) deleteArtifacts(ctx context.Context, run *engine.Run) {
	if len(run.Artifacts) == 0 {
		return
	}
	if err := j.blobs.DeleteArtifacts(ctx, run.ID); err != nil {
		j.log.Warn("the artifacts of a removed run could not be removed", "run", run.ID, "error", err)
	}
}

// sweepOrphans removes the outputs and artifacts whose runs a janitor has removed, but that crashed before it came to
// them, and artifacts that no run ever told of. Where runs are never removed, they belong to runs that are there.
func (j *janitor) sweepOrphans(ctx context.Context) error {
	if j.retention <= 0 {
		return nil
	}
	known := func(ctx context.Context, ids []string) (map[string]bool, error) {
		runs, err := j.store.RunsByID(ctx, ids)
		known := make(map[string]bool, len(runs))
		for i := range runs {
			known[runs[i].ID] = true
		}
		return known, err
	}
	before := j.now().Add(-j.retention)
	outputs, err := j.blobs.SweepLogs(ctx, before, known)
	if outputs > 0 {
		j.log.Info("removed outputs whose runs were removed before", "runs", outputs)
	}
	artifacts, failed := j.blobs.SweepArtifacts(ctx, before, known)
	if artifacts > 0 {
		j.log.Info("removed artifacts whose runs were removed before", "runs", artifacts)
	}
	return errors.Join(err, failed)
}

// breath is how long to wait after a batch that took so long, so that all batches together take their share of the time.
func breath(took time.Duration, late bool) time.Duration {
	share := janitorShare
	if late {
		share = janitorLateShare
	}
	return time.Duration(float64(took) * (1 - share) / share)
}

func (j *janitor) breathe(ctx context.Context, least time.Duration) error {
	select {
	case <-time.After(max(least, j.pause)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
