package storetest

import (
	"context"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// DueTasks passes through Fault.
func (f *Faulty) DueTasks(ctx context.Context, shards []int, after, until time.Time) ([]engine.ScheduledTask, error) {
	return through(ctx, f.Fault, "DueTasks", func(ctx context.Context) ([]engine.ScheduledTask, error) {
		return f.Store.DueTasks(ctx, shards, after, until)
	})
}

// TasksByID passes through Fault.
func (f *Faulty) TasksByID(ctx context.Context, uids []string) ([]engine.ScheduledTask, error) {
	return through(ctx, f.Fault, "TasksByID", func(ctx context.Context) ([]engine.ScheduledTask, error) {
		return f.Store.TasksByID(ctx, uids)
	})
}

// JobsByUID passes through Fault.
func (f *Faulty) JobsByUID(ctx context.Context, uids []string) ([]engine.Job, error) {
	return through(ctx, f.Fault, "JobsByUID", func(ctx context.Context) ([]engine.Job, error) {
		return f.Store.JobsByUID(ctx, uids)
	})
}

// PendingJobs passes through Fault.
func (f *Faulty) PendingJobs(ctx context.Context, shards []int, limit int) ([]engine.Job, error) {
	return through(ctx, f.Fault, "PendingJobs", func(ctx context.Context) ([]engine.Job, error) {
		return f.Store.PendingJobs(ctx, shards, limit)
	})
}

// Generation passes through Fault.
func (f *Faulty) Generation(ctx context.Context, uid string, generation int64) (engine.Generation, error) {
	return through(ctx, f.Fault, "Generation", func(ctx context.Context) (engine.Generation, error) {
		return f.Store.Generation(ctx, uid, generation)
	})
}

// ActiveRunIDs passes through Fault.
func (f *Faulty) ActiveRunIDs(ctx context.Context, shards []int, after string, limit int) ([]string, error) {
	return through(ctx, f.Fault, "ActiveRunIDs", func(ctx context.Context) ([]string, error) {
		return f.Store.ActiveRunIDs(ctx, shards, after, limit)
	})
}

// ActiveRuns passes through Fault.
func (f *Faulty) ActiveRuns(ctx context.Context, shards []int, after string, limit int) ([]engine.Run, error) {
	return through(ctx, f.Fault, "ActiveRuns", func(ctx context.Context) ([]engine.Run, error) {
		return f.Store.ActiveRuns(ctx, shards, after, limit)
	})
}

// ActiveRunsOf passes through Fault.
func (f *Faulty) ActiveRunsOf(ctx context.Context, uids []string) ([]engine.Run, error) {
	return through(ctx, f.Fault, "ActiveRunsOf", func(ctx context.Context) ([]engine.Run, error) {
		return f.Store.ActiveRunsOf(ctx, uids)
	})
}

// RunsByID passes through Fault.
func (f *Faulty) RunsByID(ctx context.Context, ids []string) ([]engine.Run, error) {
	return through(ctx, f.Fault, "RunsByID", func(ctx context.Context) ([]engine.Run, error) {
		return f.Store.RunsByID(ctx, ids)
	})
}

// Commands passes through Fault.
func (f *Faulty) Commands(ctx context.Context, shards []int, limit int) ([]engine.Command, error) {
	return through(ctx, f.Fault, "Commands", func(ctx context.Context) ([]engine.Command, error) {
		return f.Store.Commands(ctx, shards, limit)
	})
}

// DAGsByUID passes through Fault.
func (f *Faulty) DAGsByUID(ctx context.Context, uids []string) ([]engine.DAG, error) {
	return through(ctx, f.Fault, "DAGsByUID", func(ctx context.Context) ([]engine.DAG, error) {
		return f.Store.DAGsByUID(ctx, uids)
	})
}

// PendingDAGs passes through Fault.
func (f *Faulty) PendingDAGs(ctx context.Context, shards []int, limit int) ([]engine.DAG, error) {
	return through(ctx, f.Fault, "PendingDAGs", func(ctx context.Context) ([]engine.DAG, error) {
		return f.Store.PendingDAGs(ctx, shards, limit)
	})
}

// DAGGeneration passes through Fault.
func (f *Faulty) DAGGeneration(ctx context.Context, uid string, generation int64) (engine.DAGGeneration, error) {
	return through(ctx, f.Fault, "DAGGeneration", func(ctx context.Context) (engine.DAGGeneration, error) {
		return f.Store.DAGGeneration(ctx, uid, generation)
	})
}

// OpenWaves passes through Fault.
func (f *Faulty) OpenWaves(ctx context.Context, shards []int, after string, limit int) ([]engine.Wave, error) {
	return through(ctx, f.Fault, "OpenWaves", func(ctx context.Context) ([]engine.Wave, error) {
		return f.Store.OpenWaves(ctx, shards, after, limit)
	})
}

// OpenWavesOf passes through Fault.
func (f *Faulty) OpenWavesOf(ctx context.Context, dagUIDs []string) ([]engine.Wave, error) {
	return through(ctx, f.Fault, "OpenWavesOf", func(ctx context.Context) ([]engine.Wave, error) {
		return f.Store.OpenWavesOf(ctx, dagUIDs)
	})
}

// LastEpochs passes through Fault.
func (f *Faulty) LastEpochs(ctx context.Context, dagUIDs []string) (map[string]int64, error) {
	return through(ctx, f.Fault, "LastEpochs", func(ctx context.Context) (map[string]int64, error) {
		return f.Store.LastEpochs(ctx, dagUIDs)
	})
}

// WavesByID passes through Fault.
func (f *Faulty) WavesByID(ctx context.Context, ids []string) ([]engine.Wave, error) {
	return through(ctx, f.Fault, "WavesByID", func(ctx context.Context) ([]engine.Wave, error) {
		return f.Store.WavesByID(ctx, ids)
	})
}

// RunsOfWave passes through Fault.
func (f *Faulty) RunsOfWave(ctx context.Context, wave, after string, limit int) ([]engine.Run, error) {
	return through(ctx, f.Fault, "RunsOfWave", func(ctx context.Context) ([]engine.Run, error) {
		return f.Store.RunsOfWave(ctx, wave, after, limit)
	})
}

// BinariesByKey passes through Fault.
func (f *Faulty) BinariesByKey(ctx context.Context, keys []string) ([]engine.Binary, error) {
	return through(ctx, f.Fault, "BinariesByKey", func(ctx context.Context) ([]engine.Binary, error) {
		return f.Store.BinariesByKey(ctx, keys)
	})
}
