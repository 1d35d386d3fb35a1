package main

import (
	"context"
	"maps"
	"slices"
	"time"
)

// recountStored recounts what the runs of each namespace have in S3, which mends what crashes have left wrong, and finds what
// attempts have stored that did not come to report it. Runs under way are left out: they count when they end. What another
// engine removes by age meanwhile may be missing from the sum until the next count.
func (j *janitor) recountStored(ctx context.Context) error {
	began := j.now()
	if err := j.stored.write(ctx); err != nil {
		return err
	}
	before, err := j.stored.sums.All(ctx)
	if err != nil {
		return err
	}
	counted := map[string]int64{}
	err = j.blobs.RunBytes(ctx, func(bytes map[string]int64) error {
		asked := time.Now()
		runs, err := j.store.RunsByID(ctx, slices.Collect(maps.Keys(bytes)))
		if err != nil {
			return err
		}
		for i := range runs {
			if run := &runs[i]; run.Status.Terminal() && run.FinishedAt.Before(began) {
				counted[run.Namespace] += bytes[run.ID]
			}
		}
		return j.breathe(ctx, j.breath(time.Since(asked), false))
	})
	if err != nil {
		return err
	}
	return j.stored.sums.Recount(ctx, before, counted)
}
