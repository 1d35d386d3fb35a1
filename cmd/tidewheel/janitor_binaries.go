package main

import (
	"context"
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// sweepBinaries removes the bytes of programs that nothing has referred to for a while. Runs that have ended do not
// count: trying one again later than that needs its program uploaded again.
func (j *janitor) sweepBinaries(ctx context.Context) error {
	if j.keep.Binaries == 0 {
		return nil
	}
	removed, err := j.blobs.SweepBinaries(ctx, j.now().Add(-j.keep.Binaries), j.usedBinaries)
	j.metrics.expired.WithLabelValues("binary").Add(float64(len(removed)))
	if len(removed) == 0 {
		return err
	}
	j.log.Info("removed programs that nothing referred to", "programs", len(removed))
	used, failed := j.usedBinaries(ctx, removed)
	if failed != nil {
		return failed
	}
	for digest := range used { // a definition or a run began to refer to it in the moment in which it went
		j.log.Error("a program was removed while it was put to use again: upload it again", "sha256", digest)
	}
	return err
}

// usedBinaries reports which of some programs are versions of a binary, named by their digest in a definition, or needed by
// runs that have not ended. Each step looks only for what none before has found.
func (j *janitor) usedBinaries(ctx context.Context, digests []string) (map[string]bool, error) {
	open := make(map[string]bool, len(digests)) // not found so far
	for _, digest := range digests {
		open[digest] = true
	}
	used := map[string]bool{}
	mark := func(digest string) {
		if open[digest] {
			delete(open, digest)
			used[digest] = true
		}
	}
	for _, look := range []func(context.Context, func(string)) error{j.digestsOfBinaries, j.digestsOfJobs, j.digestsOfDAGs, j.digestsOfRuns} {
		if len(open) == 0 {
			break
		}
		if err := look(ctx, mark); err != nil {
			return nil, fmt.Errorf("look for what refers to programs: %w", err)
		}
	}
	return used, nil
}

func (j *janitor) digestsOfBinaries(ctx context.Context, mark func(string)) error {
	return walk(ctx, j, func(cursor string) ([]engine.Binary, string, error) {
		return j.store.Binaries(ctx, "", cursor, janitorBatch)
	}, func(binaries []engine.Binary) error {
		for i := range binaries {
			for k := range binaries[i].Versions {
				mark(binaries[i].Versions[k].SHA256)
			}
		}
		return nil
	})
}

func (j *janitor) digestsOfJobs(ctx context.Context, mark func(string)) error {
	return eachOf(ctx, j, j.store.Jobs(), janitorBatch, func(jobs []engine.Job) error {
		for i := range jobs {
			markBinding(jobs[i].Spec.Binary, mark)
		}
		return nil
	})
}

// digestsOfDAGs looks at all versions of each DAG that are kept: an open wave is executed by the version that it began with.
func (j *janitor) digestsOfDAGs(ctx context.Context, mark func(string)) error {
	return eachOf(ctx, j, j.store.DAGs(), dagsAtOnce, func(dags []engine.DAG) error {
		for i := range dags {
			markTasks(&dags[i].Spec, mark)
			for below := dags[i].Generation; below > 1; {
				versions, err := j.store.DAGs().Generations(ctx, dags[i].UID, below, dagsAtOnce)
				if err != nil {
					return err
				}
				if len(versions) == 0 {
					break
				}
				for k := range versions {
					markTasks(&versions[k].Spec, mark)
				}
				below = versions[len(versions)-1].Generation
			}
		}
		return nil
	})
}

func markTasks(definition *spec.DAG, mark func(string)) {
	markBinding(definition.Defaults.Binary, mark)
	for i := range definition.Tasks {
		markBinding(definition.Tasks[i].Binary, mark)
	}
}

func markBinding(text string, mark func(string)) {
	if ref, err := spec.ParseBinary(text); err == nil && ref.Digest != "" {
		mark(ref.Digest)
	}
}

// digestsOfRuns looks at the runs that have not ended: they keep the program that they were queued with.
func (j *janitor) digestsOfRuns(ctx context.Context, mark func(string)) error {
	shards := make([]int, engine.Shards)
	for i := range shards {
		shards[i] = i
	}
	for after := ""; ; {
		began := time.Now()
		runs, err := j.store.ActiveRuns(ctx, shards, after, janitorBatch)
		if err != nil || len(runs) == 0 {
			return err
		}
		for i := range runs {
			mark(runs[i].Digest)
		}
		after = runs[len(runs)-1].ID
		if err := j.breathe(ctx, j.breath(time.Since(began), false)); err != nil {
			return err
		}
	}
}
