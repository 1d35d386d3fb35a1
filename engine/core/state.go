package core

import (
	"encoding/json"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/incident"
	"github.com/tidewheel/tidewheel/engine/wave"
	"github.com/tidewheel/tidewheel/engine/wheel"
	"github.com/tidewheel/tidewheel/spec"
)

// job is a definition that the core holds, with what is planned and what is active.
type job struct {
	uid      string
	def      *engine.Job // nil once it is deleted
	revision int64       // of the latest definition that was seen, a tombstone included
	// namespace and name outlive the definition.
	namespace, name string
	schedule        *cron.Schedule
	specs           map[int64]*spec.Job // generations that live runs were made of
	binary          string              // "namespace/name" of what the definition refers to, "" for a digest

	task       *engine.ScheduledTask // nil before the first slot is planned
	taskStored bool                  // it has been written
	taskDirty  bool
	timer      *wheel.Timer[timer] // prepare

	live     []*run // runs that have not ended, oldest first
	had      bool   // as in JobSnapshot
	postpone bool   // the next slot has come near, and waits for a live run to end before it is prepared

	open     *ledgerRange // the ledger's latest range, while it may grow
	openNext time.Time    // the slot that would continue it

	// ended holds the last revisions of runs that have ended, while a read of the store that is under way may bring older ones.
	endedRuns map[string]int64

	tombstone *engine.JobHandled // the definition is deleted, and this is to be said once nothing runs any more

	alerts *spec.Alerts // what users are notified of; nil for nothing

	dag      *dagState // that this is a task of; nil for a job
	taskName string

	writes int // writes of this job's runs and task that are not durable yet
}

// run is a run that has not ended.
type run struct {
	engine.Run
	job           *job
	spec          *spec.Job // of its generation
	dirty         bool
	writing       bool // what was handed out of it is not durable yet
	requeueChecks int  // how often its queued task has been checked
	timer         *wheel.Timer[timer]
	resend        *wheel.Timer[timer]
	revoke        bool // a Revoke is under way
	// maybePublished means that an engine that crashed may have published the first attempt: the store still says scheduled.
	maybePublished bool
	hearing        bool // its time has come, and it waits for news of the run before it: see hearWithin
	// Of a task in a wave.
	value        json.RawMessage // what its list has for it
	waveNotified bool            // its wave knows of its end already
	unheard      bool            // read from the store as queued or running, and nothing has been heard of its attempt since
	counted      engine.RunCount // what it adds to the counts of its namespace
	watch        *runWatch       // nil where no user asked to be notified
}

// runWatch is the state of a run's alerts, where users asked to be notified.
type runWatch struct {
	incident.Watch
	timer *wheel.Timer[timer] // the run may be late or slow then
}

type timerKind uint8

const (
	timerPrepare timerKind = iota + 1
	timerFire              // a scheduled run's slot, or NotBefore, has come
	timerRetry
	timerInspect // check a queued task, or a running attempt's lock
	timerResend  // ask again for a cancellation
	timerWatch   // a run may be late or slow: see watch
	timerWave    // a wave may be slow, or the NotBefore of one has come
)

// timer is of a job, a run or a wave, as its kind says.
type timer struct {
	kind timerKind
	of   any
}

// dagState is a DAG that the core holds: what is planned, and the wave that is open.
//
// Each of its tasks is a job of the core, made when it is needed: so attempts, retries and supervision are those of
// jobs, and slots, catch-up and the ledger of a CRON root are, too. What differs is what a slot leads to: it lets the
// root go in a wave, instead of making a run of its own kind.
type dagState struct {
	uid      string
	def      *engine.DAG // nil once it is deleted
	revision int64
	// namespace and name outlive the definition.
	namespace, name string
	shard           int
	definitions     map[int64]*wave.Definition // generations that are the current one, or that an open wave began with
	tasks           map[string]*job            // CRON roots always, other tasks while a run of them has not ended
	alerts          *spec.Alerts               // what users are notified of; nil for nothing
	epoch           int64                      // of the latest wave that opened
	open            *waveState                 // nil between waves
	asked           []*waveState               // triggered manually, in the order of the requests
	resumes         []CommandReceived

	resumed   map[string]int64   // waves that were resumed, and from which revision, for as long as in job.endedRuns
	tombstone *engine.JobHandled // as in job
	writes    int                // waves that are not durable yet
}

// waveState is a wave that has not ended: asked for, or open. There is at most one open wave of a DAG.
type waveState struct {
	wave.Wave
	dag   *dagState
	dirty bool
	watch *wheel.Timer[timer] // it may be slow, or its NotBefore comes
}

// ledgerRange is the latest range of a job's ledger, while it may grow.
type ledgerRange struct {
	engine.SlotRange
	dirty bool
}
