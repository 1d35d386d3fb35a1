package core

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Event is something that the core acts on. The set is closed.
type Event interface{ event() }

// Tick says nothing but the time: what is due by it happens.
type Tick struct{}

// HorizonMoved reports that scheduled tasks up to Until are about to be loaded: from now on the core keeps every job
// whose next slot is not after it.
type HorizonMoved struct{ Until time.Time }

// JobsLoaded brings jobs as the store has them: because they are due, or changed, or have runs that have not ended.
type JobsLoaded struct {
	Jobs     []JobSnapshot
	DAGs     []DAGSnapshot
	Binaries []engine.Binary
}

// JobSnapshot is all that the store holds about one job that concerns the present.
type JobSnapshot struct {
	UID  string
	Job  *engine.Job           // nil when there is none any more
	Task *engine.ScheduledTask // nil when no slot is planned
	Runs []engine.Run          // those that have not ended
	// Specs are earlier generations that Task or Runs still refer to.
	Specs map[int64]spec.Job
	// Had means that the moment (`at`) of a version that is new has a run already: an earlier version named it, too.
	Had bool
}

// DAGSnapshot is all that the store holds about one DAG that concerns the present.
type DAGSnapshot struct {
	UID  string
	DAG  *engine.DAG         // nil when there is none any more
	Spec map[int64]*spec.DAG // earlier generations that the open wave, scheduled tasks or runs still refer to
	// Tasks are the scheduled tasks of its CRON roots, by the names of the roots.
	Tasks map[string]engine.ScheduledTask
	// Waves are those that have not ended; LastEpoch is the highest epoch that any wave of the DAG has.
	Waves     []engine.Wave
	LastEpoch int64
	// Runs are those of the open wave, whatever their status, and all others that have not ended.
	Runs []engine.Run
}

// BinariesChanged brings binaries whose versions or aliases may have moved; Gone are keys of deleted ones.
type BinariesChanged struct {
	Binaries []engine.Binary
	Gone     []string
}

// ResultsReceived brings what executors report, in the order of the queue.
type ResultsReceived struct{ Results []engine.Result }

// TaskPublished reports how publishing an attempt's task went.
type TaskPublished struct {
	Run     string
	Attempt int
	Failed  bool
}

// TaskDropped reports that the queue has let the task of an attempt go, because it was so old that it may have been claimed
// before.
type TaskDropped struct {
	Run     string
	Attempt int
}

// AttemptRevoked answers a Revoke. Revoked is false when an executor had claimed the attempt; Failed when nothing is known.
type AttemptRevoked struct {
	Run     string
	Attempt int
	Revoked bool
	Failed  bool
}

// AttemptInspected answers an Inspect.
type AttemptInspected struct {
	Run     string
	Attempt int
	State   engine.AttemptState
	Failed  bool
}

// CommandReceived brings a command with the job and the run it is about, as the store has them.
type CommandReceived struct {
	Command  engine.Command
	Snapshot JobSnapshot
	Run      *engine.Run
	// Of a command about a wave: its DAG, and the wave with its runs where it has ended.
	DAG      *DAGSnapshot
	Wave     *engine.Wave
	WaveRuns []engine.Run
	Binaries []engine.Binary
}

// RunsLookedUp answers a LookUpRuns: Exists has all runs that were asked for.
type RunsLookedUp struct {
	Command engine.Command
	Exists  map[string]bool
}

// AlertRules has the alerts by namespace, for definitions that leave them out.
type AlertRules struct{ Namespaces map[string]spec.Alerts }

// IncidentsLoaded brings all incidents of the shard, after AlertRules and before anything else.
type IncidentsLoaded struct{ Incidents []engine.Incident }

// IncidentNotified answers a Notify: the notifier has the beginning of an incident for good, or its end.
type IncidentNotified struct {
	ID     string
	Since  time.Time
	Over   bool
	Failed bool // the outcome is unknown: the core notifies again
}

// ClockWentBack reports that the wall clock shows an earlier time than before. What waits for a slot continues waiting for
// it; what waits for a time to pass does not wait longer.
type ClockWentBack struct{ By time.Duration }

func (ClockWentBack) event()    {}
func (Tick) event()             {}
func (HorizonMoved) event()     {}
func (JobsLoaded) event()       {}
func (BinariesChanged) event()  {}
func (ResultsReceived) event()  {}
func (TaskPublished) event()    {}
func (TaskDropped) event()      {}
func (AttemptRevoked) event()   {}
func (AttemptInspected) event() {}
func (CommandReceived) event()  {}
func (RunsLookedUp) event()     {}
func (AlertRules) event()       {}
func (IncidentsLoaded) event()  {}
func (IncidentNotified) event() {}
