package core

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/wheel"
	"github.com/tidewheel/tidewheel/spec"
)

// Config holds the core's times and bounds. DefaultConfig gives what production uses.
type Config struct {
	// Lead is how long before its slot a run is prepared.
	Lead time.Duration
	// Grace is how late a slot may be and still count as on time: catch-up rules apply to older ones only.
	Grace time.Duration
	// LockTTL is how long an executor's lock lasts without being refreshed.
	LockTTL time.Duration
	// Margin is added to an instant at which a lock could expire before it is looked at.
	Margin time.Duration
	// Requeue is how long a task may wait unclaimed before the core makes sure that the queue still has it. It
	// doubles with each look, up to four times.
	Requeue time.Duration
	// Resend is the time between two requests to cancel a running attempt.
	Resend time.Duration
	// Unfetched is the wait before the next attempt of a run whose program could not be fetched.
	Unfetched time.Duration
	// MaxLosses bounds the lost attempts of a run, and those whose program could not be fetched; the next makes it dead.
	MaxLosses int
	// MaxCatchUp bounds the slots that one catch-up brings back, and MaxWaiting the runs of a job that wait.
	MaxCatchUp int
	MaxWaiting int
	// CommitRuns bounds the runs of one commit, and the jobs and DAGs that it is about. Only where one DAG has more are
	// there more.
	CommitRuns int
}

// DefaultConfig is what production uses.
func DefaultConfig() Config {
	return Config{
		Lead:       250 * time.Millisecond,
		Grace:      10 * time.Second,
		LockTTL:    10 * time.Second,
		Margin:     200 * time.Millisecond,
		Requeue:    30 * time.Second,
		Resend:     2 * time.Second,
		Unfetched:  5 * time.Second,
		MaxLosses:  10,
		MaxCatchUp: 1000,
		MaxWaiting: 1000,
		CommitRuns: engine.CommitRuns,
	}
}

// Core is the state machine of one shard: its jobs and DAGs that are due within the horizon or have runs that have not
// ended, and those runs. It belongs to one goroutine.
//
// Its memory runs ahead of the store: Step changes the state at once and returns what may be done at once; Ready
// hands out what must be written, and what may be done only once that is durable; Committed says that it is.
type Core struct {
	config   Config
	rand     *rand.Rand
	wheel    *wheel.Wheel[timer]
	now      time.Time
	horizon  time.Time
	jobs     map[string]*job
	dags     map[string]*dagState
	runs     map[string]*run
	binaries map[string]*engine.Binary
	held     map[string]int // jobs that are being read: see Hold
	acting   map[string]int // see Acts

	effects []Effect // what the present Step returns
	pending backlog  // what Ready hands out

	// What is left to do in this Step, so that nothing below has to call what is above it: see settle.go.
	ended    []*run      // whose jobs and waves are to hear of it
	idle     []*job      // looked at: forgotten if nothing is going on with them
	idleDAGs []*dagState // the same, and their waves go on
}

// job is a definition that the core holds, with what is planned and what is going on.
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
	postpone bool   // the next slot has come near, and waits for a live run to end before it is prepared

	open     *ledgerRange // the ledger's latest range, while it may grow
	openNext time.Time    // the slot that would continue it

	// ended holds the last revisions of runs that have ended, while a read of the store that is under way may bring older ones.
	ended map[string]int64

	tombstone *engine.JobHandled // the definition is deleted, and this is to be said once nothing runs any more

	dag      *dagState // that this is a task of; nil for a job
	taskName string

	writes int // writes of this job's runs and task that are not durable yet
}

// run is a run that has not ended.
type run struct {
	engine.Run
	job     *job
	spec    *spec.Job // of its generation
	dirty   bool
	writing bool // what was handed out of it is not durable yet
	looks   int  // how often its queued task has been looked after
	timer   *wheel.Timer[timer]
	resend  *wheel.Timer[timer]
	revoke  bool // a Revoke is under way
	// doubt says that an engine that crashed may have published the first attempt: the store still says scheduled.
	doubt bool
	// Of a task in a wave.
	value    json.RawMessage // what its list has for it
	quiet    bool            // its wave knows of its end already
	unheard  bool            // read from the store as queued or running, and nothing has been heard of its attempt since
	outlived bool            // the queue has let the task of its attempt go: see dropped
	// back is set while a prepared run is taken back that a crashed engine may have published already.
	back engine.SlotReason
}

type timerKind uint8

const (
	timerPrepare timerKind = iota + 1
	timerFire              // a scheduled run's slot, or NotBefore, has come
	timerRetry
	timerInspect // look after a queued task, or a running attempt's lock
	timerResend  // ask again for a cancellation
)

type timer struct {
	kind timerKind
	job  *job
	run  *run
}

// NewCore makes an empty core. now is the wall clock; random draws the jitter of retries.
func NewCore(config Config, now time.Time, random *rand.Rand) *Core {
	if config.CommitRuns <= 0 {
		config.CommitRuns = engine.CommitRuns
	}
	return &Core{
		config:   config,
		rand:     random,
		wheel:    wheel.New[timer](now),
		now:      now,
		horizon:  now,
		jobs:     map[string]*job{},
		dags:     map[string]*dagState{},
		runs:     map[string]*run{},
		binaries: map[string]*engine.Binary{},
		held:     map[string]int{},
		acting:   map[string]int{},
		pending:  backlog{of: map[string]*unwritten{}},
	}
}

// Step takes one event at one instant and returns what is to be done at once. now is the wall clock and may jump
// either way. Whatever must be written first comes with Ready.
func (c *Core) Step(now time.Time, event Event) []Effect {
	c.now = now.UTC()
	c.effects = nil
	switch e := event.(type) {
	case Tick:
	case HorizonMoved:
		if e.Until.After(c.horizon) {
			c.horizon = e.Until
		}
	case JobsLoaded:
		c.learnBinaries(e.Binaries)
		for i := range e.Jobs {
			c.loadJob(&e.Jobs[i])
			c.settleRuns()
		}
		for i := range e.DAGs {
			c.loadDAG(&e.DAGs[i])
			c.settleRuns()
		}
	case BinariesChanged:
		c.learnBinaries(e.Binaries)
		for _, key := range e.Gone {
			delete(c.binaries, key)
		}
	case ResultsReceived:
		for i := range e.Results {
			c.result(&e.Results[i])
			c.settleRuns()
		}
	case TaskPublished:
		c.published(e)
	case TaskDropped:
		c.dropped(e)
	case AttemptRevoked:
		c.revoked(e)
	case AttemptInspected:
		c.inspected(e)
	case CommandReceived:
		c.learnBinaries(e.Binaries)
		c.command(e)
	case RunsLookedUp:
		c.backfill(e)
	case ClockWentBack:
		c.clockWentBack(e.By)
	}
	c.settleRuns()
	c.wheel.Advance(c.now, c.expire)
	c.settle()
	return c.effects
}

// Next is when Step must be called again at the latest; false when nothing is planned.
func (c *Core) Next() (time.Time, bool) { return c.wheel.Next() }

// Stats counts what the core holds.
type Stats struct {
	Jobs, DAGs, Runs, Timers int
	// Unwritten counts the jobs and DAGs that have decisions which are not durable, and Since is when the oldest of these
	// was made; zero if there are none.
	Unwritten int
	Since     time.Time
}

// Stats counts what the core holds, without what Ready has handed out.
func (c *Core) Stats() Stats {
	s := Stats{Jobs: len(c.jobs), DAGs: len(c.dags), Runs: len(c.runs), Timers: c.wheel.Len(), Unwritten: len(c.pending.queue)}
	if s.Unwritten > 0 {
		s.Since = c.pending.queue[0].since
	}
	return s
}

// Hold says that a job is about to be read. Until LetGo the core does not forget it: what is read now would be out of
// date once the job has been worked on, and only a job in memory tells that it is.
func (c *Core) Hold(uid string) { c.held[uid]++ }

// LetGo says that what was read has been given to Step, or that it never will be.
func (c *Core) LetGo(uid string) {
	c.letGo(uid)
	c.settle()
}

func (c *Core) letGo(uid string) {
	if c.held[uid]--; c.held[uid] > 0 {
		return
	}
	delete(c.held, uid)
	if j := c.jobs[uid]; j != nil {
		c.forgetEnded(j)
		c.idle = append(c.idle, j)
	}
	if d := c.dags[uid]; d != nil {
		for _, name := range d.taskNames() {
			c.forgetEnded(d.tasks[name])
			c.idle = append(c.idle, d.tasks[name])
		}
		c.idleDAGs = append(c.idleDAGs, d)
	}
}

// KnowsBinary reports whether the core has the binary ("namespace/name").
func (c *Core) KnowsBinary(key string) bool { return c.binaries[key] != nil }

func (c *Core) expire(_ time.Time, t timer) {
	switch t.kind {
	case timerPrepare:
		t.job.timer = nil
		c.prepare(t.job)
	case timerFire:
		t.run.timer = nil
		c.fire(t.run)
	case timerRetry:
		t.run.timer = nil
		c.admit(t.run)
	case timerInspect:
		t.run.timer = nil
		c.inspect(t.run)
	case timerResend:
		t.run.resend = nil
		c.askToCancel(t.run)
	}
	c.settleRuns()
}

// atOnce adds an effect that needs nothing to be durable first.
func (c *Core) atOnce(e Effect) { c.effects = append(c.effects, e) }

// afterCommit adds an effect that must wait until all that has been decided so far of the run's job or DAG is durable.
func (c *Core) afterCommit(r *run, e Effect) {
	p := c.unwritten(r.job.owner())
	p.after = append(p.after, e)
}

func (c *Core) setTimer(slot **wheel.Timer[timer], at time.Time, t timer) {
	c.wheel.Cancel(*slot)
	*slot = c.wheel.Schedule(at, t)
}

func (c *Core) stopTimer(slot **wheel.Timer[timer]) {
	c.wheel.Cancel(*slot)
	*slot = nil
}

// learnBinaries takes binaries from the store. One that was deleted and pushed again counts its revisions anew.
func (c *Core) learnBinaries(binaries []engine.Binary) {
	for i := range binaries {
		b := binaries[i]
		known := c.binaries[b.Key()]
		if known == nil || known.Revision <= b.Revision || known.UpdatedAt.Before(b.UpdatedAt) {
			c.binaries[b.Key()] = &b
		}
	}
}

// BinaryKeys gives the keys ("namespace/name") of the binaries that jobs in memory refer to, in order, and forgets all
// others.
func (c *Core) BinaryKeys() []string {
	used := map[string]bool{}
	for _, j := range c.jobs {
		if j.binary != "" {
			used[j.binary] = true
		}
	}
	for _, d := range c.dags {
		for _, key := range d.binaryKeys() {
			used[key] = true
		}
	}
	maps.DeleteFunc(c.binaries, func(key string, _ *engine.Binary) bool { return !used[key] })
	return slices.Sorted(maps.Keys(c.binaries))
}
