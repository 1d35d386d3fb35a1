package core

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/incident"
	"github.com/tidewheel/tidewheel/engine/wheel"
	"github.com/tidewheel/tidewheel/spec"
)

// Core is the state machine of one shard: its jobs and DAGs that are due within the horizon or have runs that have not
// ended, and those runs. It belongs to one goroutine.
//
// Its memory runs ahead of the store: Step changes the state at once and returns what may be done at once; Ready
// hands out what must be written, and what may be done only once that is durable; Committed says that it is.
type Core struct {
	config          Config
	rand            *rand.Rand
	wheel           *wheel.Wheel[timer]
	now             time.Time
	horizon         time.Time
	jobs            map[string]*job
	dags            map[string]*dagState
	runs            map[string]*run
	counts          map[string]engine.RunCount // of runs, by namespace; none is zero
	binaries        map[string]*engine.Binary
	held            map[string]int          // jobs that are being read: see Hold
	namespaceAlerts map[string]*spec.Alerts // what namespaces ask for: see AlertRules
	incidents       *incident.Book
	acting          map[string]int // see Acts

	effects []Effect // what the present Step returns
	pending backlog  // what Ready hands out

	// What is left to do in this Step, so that nothing below has to call what is above it: see settle.go.
	ended    []*run      // whose jobs and waves are to hear of it
	idle     []*job      // forgotten if nothing is active in them
	idleDAGs []*dagState // the same, and their waves continue
}

// NewCore makes an empty core. now is the wall clock; random draws the jitter of retries.
func NewCore(config Config, now time.Time, random *rand.Rand) *Core {
	if config.CommitRuns <= 0 {
		config.CommitRuns = engine.CommitRuns
	}
	c := &Core{
		config:          config,
		rand:            random,
		wheel:           wheel.New[timer](now),
		now:             now,
		horizon:         now,
		jobs:            map[string]*job{},
		dags:            map[string]*dagState{},
		runs:            map[string]*run{},
		counts:          map[string]engine.RunCount{},
		binaries:        map[string]*engine.Binary{},
		held:            map[string]int{},
		namespaceAlerts: map[string]*spec.Alerts{},
		acting:          map[string]int{},
		pending:         backlog{of: map[string]*unwritten{}},
	}
	c.incidents = incident.NewBook(now, incident.Outlet{
		Changed: func(e *incident.Entry) {
			u := c.pending.about(e.UID, c.now)
			u.incidents = append(u.incidents, e)
		},
		Notify: func(i engine.Incident) { c.effects = append(c.effects, Notify{i}) },
	})
	return c
}

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

// Next is when Step must be called again at the latest; false when nothing is planned.
func (c *Core) Next() (time.Time, bool) {
	at, planned := c.wheel.Next()
	if other, too := c.incidents.Next(); too && (!planned || other.Before(at)) {
		return other, true
	}
	return at, planned
}

// Mark names all that has been decided so far: it is durable once a batch is whose Upto is not lower.
func (c *Core) Mark() uint64 { return c.pending.last }

// Acts reports whether the core has acted upon a job or DAG and the store does not know yet. Until it does it says that the
// job waits: to read it again each time would make more work the slower the store is.
func (c *Core) Acts(uid string) bool { return c.acting[uid] > 0 }

// Awaits reports whether an attempt is to be claimed, as far as the core has heard. What was to be published once
// something is durable may have been claimed meanwhile, by a copy from before, and have ended: a copy that came after
// that would wait in the queue until the claim is forgotten.
func (c *Core) Awaits(run string, attempt int) bool {
	return c.Queued(run, attempt) && c.runs[run].CancelBy == "" // else it is being taken back
}

// Queued reports whether an attempt may be claimed, as far as the core has heard: one that is being taken back, too.
func (c *Core) Queued(run string, attempt int) bool {
	r := c.runs[run]
	return r != nil && r.Attempt == attempt && r.Status == engine.StatusQueued
}

// KnowsBinary reports whether the core has the binary ("namespace/name").
func (c *Core) KnowsBinary(key string) bool { return c.binaries[key] != nil }

// BinaryKeys returns the keys ("namespace/name") of the binaries that jobs in memory refer to, in order, and forgets all
// others.
func (c *Core) BinaryKeys() []string {
	used := map[string]bool{}
	for _, j := range c.jobs {
		if j.binary != "" {
			used[j.binary] = true
		}
	}
	for _, d := range c.dags {
		for _, f := range d.definitions {
			for _, key := range engine.BinaryKeys(d.namespace, f.Spec) {
				used[key] = true
			}
		}
	}
	maps.DeleteFunc(c.binaries, func(key string, _ *engine.Binary) bool { return !used[key] })
	return slices.Sorted(maps.Keys(c.binaries))
}

// learnBinaries takes binaries from the store. One that was deleted and pushed again counts its revisions from zero.
func (c *Core) learnBinaries(binaries []engine.Binary) {
	for i := range binaries {
		b := binaries[i]
		known := c.binaries[b.Key()]
		if known == nil || known.Revision <= b.Revision || known.UpdatedAt.Before(b.UpdatedAt) {
			c.binaries[b.Key()] = &b
		}
	}
}
