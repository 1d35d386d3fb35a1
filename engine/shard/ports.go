package shard

import (
	"context"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
	"github.com/tidewheel/tidewheel/spec"
)

// Store is the truth, as the owner of shards needs it. Every method may be called at any time by any number of
// engines; an error means that nothing is known about what was done.
type Store interface {
	DAGStore

	// Take makes the caller the owner of a shard: every later commit of an earlier owner gives engine.ErrFenced. What is
	// read afterwards has all that was ever committed.
	Take(ctx context.Context, shard int, owner string) (engine.Term, error)
	// Commit writes decisions, each whole or not at all, if its term is the shard's latest and its position the next
	// one. There is one error for each commit: nil, it is durable; engine.ErrFenced, another engine has taken the shard over
	// and nothing was written; anything else, nothing is known, and the same commit may be given again.
	Commit(ctx context.Context, commits []engine.ShardCommit) []error

	// DueTasks returns all scheduled tasks of these shards with RunAt in (after, until], the earliest first.
	DueTasks(ctx context.Context, shards []int, after, until time.Time) ([]engine.ScheduledTask, error)
	// TasksByID returns those scheduled tasks that exist, in no order.
	TasksByID(ctx context.Context, uids []string) ([]engine.ScheduledTask, error)
	// JobsByUID returns those jobs that exist, tombstones included, in no order.
	JobsByUID(ctx context.Context, uids []string) ([]engine.Job, error)
	// PendingJobs returns jobs of these shards that the engine has not acted upon, tombstones included.
	PendingJobs(ctx context.Context, shards []int, limit int) ([]engine.Job, error)
	// Generation returns one version of a job, engine.ErrNotFound if it is not kept any more.
	Generation(ctx context.Context, uid string, generation int64) (engine.Generation, error)
	// ActiveRunIDs returns the ids of runs of these shards that have not ended, those above after, in order.
	ActiveRunIDs(ctx context.Context, shards []int, after string, limit int) ([]string, error)
	// ActiveRunsOf returns all runs of these jobs that have not ended, in no order.
	ActiveRunsOf(ctx context.Context, uids []string) ([]engine.Run, error)
	// RunsByID returns those runs that exist, in no order.
	RunsByID(ctx context.Context, ids []string) ([]engine.Run, error)
	// Commands returns the commands for these shards, oldest first.
	Commands(ctx context.Context, shards []int, limit int) ([]engine.Command, error)
	// Incidents returns all incidents of these shards with ids above after, in the order of their ids.
	Incidents(ctx context.Context, shards []int, after string, limit int) ([]engine.Incident, error)
	// BinariesByKey returns those binaries ("namespace/name") that exist, in no order.
	BinariesByKey(ctx context.Context, keys []string) ([]engine.Binary, error)
}

// DAGStore is the part of the truth that is about DAGs and their waves.
type DAGStore interface {
	// DAGsByUID returns those DAGs that exist, tombstones included, in no order.
	DAGsByUID(ctx context.Context, uids []string) ([]engine.DAG, error)
	// PendingDAGs returns DAGs of these shards that the engine has not acted upon, tombstones included.
	PendingDAGs(ctx context.Context, shards []int, limit int) ([]engine.DAG, error)
	// DAGGeneration returns one version of a DAG, engine.ErrNotFound if it is not kept any more.
	DAGGeneration(ctx context.Context, uid string, generation int64) (engine.DAGGeneration, error)
	// OpenWaves returns waves of these shards that are scheduled or running, with ids above after, in the order of their ids.
	OpenWaves(ctx context.Context, shards []int, after string, limit int) ([]engine.Wave, error)
	// OpenWavesOf returns all waves of these DAGs that are scheduled or running, in no order.
	OpenWavesOf(ctx context.Context, dagUIDs []string) ([]engine.Wave, error)
	// LastEpochs returns the highest epoch that any wave of each of these DAGs has; a DAG of which no wave has opened is not
	// in it.
	LastEpochs(ctx context.Context, dagUIDs []string) (map[string]int64, error)
	// TasksOfDAGs returns all scheduled tasks of the roots of these DAGs, in no order.
	TasksOfDAGs(ctx context.Context, dagUIDs []string) ([]engine.ScheduledTask, error)
	// WavesByID returns those waves that exist, in no order.
	WavesByID(ctx context.Context, ids []string) ([]engine.Wave, error)
	// RunsOfWave returns runs of a wave, whether they have ended or not, with ids above after, in the order of their ids.
	RunsOfWave(ctx context.Context, wave, after string, limit int) ([]engine.Run, error)
}

// Queue carries work to executors and brings results back.
type Queue interface {
	// Publish asks executors to run an attempt. It does not wait: done is called once, from any goroutine, when the
	// queue has stored the task, or has a copy of it already (nil), or has failed (the caller publishes again).
	Publish(task *engine.Task, done func(error))
	// Revoke takes an attempt back before an executor claims it, and removes its waiting task. False: an executor claimed it.
	Revoke(ctx context.Context, attempt core.Revoke) (bool, error)
	// Inspect returns the state of an attempt, whether its task waits, and whether it holds one of the locks.
	Inspect(ctx context.Context, attempt core.Inspect) (engine.AttemptState, error)
	// DeclareLost ends an attempt on condition that its last message is still the one with this sequence.
	// False: something came after it.
	DeclareLost(ctx context.Context, shard int, run string, attempt int, after uint64) (bool, error)
	// Ask requests the executor that runs an attempt to end its program, or that it may begin it. It is a hint: it may be lost, and
	// is sent again.
	Ask(ctx context.Context, control engine.Control) error
	// Results delivers what executors report for one shard, in order, until ctx ends, and from the first
	// unacknowledged on at every start. It calls handle from one goroutine.
	Results(ctx context.Context, shard int, handle func(Delivery)) error
	// Wakes calls handle when there is a change in the store for the engine to read: a hint that may be lost.
	Wakes(ctx context.Context, handle func(engine.Wake)) error
}

// Notifier notifies users of incidents.
type Notifier interface {
	// Notify takes the beginning of an incident, or its end where Over is set. nil means that it is durable: the
	// engine does not repeat it, unless the answer was lost. The notifier recognizes a repetition by its Incident.Key.
	Notify(ctx context.Context, incident engine.Incident) error
	// AlertRules returns what namespaces ask for where definitions leave it out, by namespace. The caller may keep it.
	AlertRules(ctx context.Context) (map[string]spec.Alerts, error)
}

// Delivery is some consecutive results of one shard.
type Delivery struct {
	Shard   int
	Results []engine.Result
	// Ack acknowledges these results and all before them to the queue. It does not wait.
	Ack func() error
}
