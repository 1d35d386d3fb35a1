package shard

import (
	"math/rand/v2"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
)

// Config holds the shell's times. DefaultConfig gives what production uses.
type Config struct {
	Core core.Config
	// Owner is the engine's name in the store's table of shards.
	Owner string
	// Horizon is how far ahead scheduled tasks are held in memory; PollEvery is how often it moves on.
	Horizon   time.Duration
	PollEvery time.Duration
	// SweepEvery is how often the store is asked for jobs and commands whose wake was lost.
	SweepEvery time.Duration
	// BinariesEvery is how often the binaries of jobs in memory are read again.
	BinariesEvery time.Duration
	// AlertsEvery is how often the engine reads the alerts of namespaces again.
	AlertsEvery time.Duration
	// CheckEvery is how often an engine that has nothing to write about a shard finds out whether another one has taken it
	// over; 0 where no other can.
	CheckEvery time.Duration
	// RetryMin and RetryMax bound the wait before something that failed is done again.
	RetryMin time.Duration
	RetryMax time.Duration
	// LoadChunk is how many jobs are loaded at one time.
	LoadChunk int
	// ExactTimers waits for slots with timers of the kernel's where it has them. They do not follow a test's clock, so
	// that DefaultConfig leaves them out.
	ExactTimers bool
	// Window is how many tasks of a namespace, a tier and a class this engine lets wait in the queue at most. The runs beyond
	// that are queued in the store, and their tasks follow as executors take those before them.
	Window int
	// Notifier notifies users of incidents. The core is to know of it by Core.Incidents, which NewRunner sets: without one there are
	// no incidents.
	Notifier Notifier
}

// DefaultConfig is what production uses.
func DefaultConfig() Config {
	return Config{
		Core:          core.DefaultConfig(),
		Owner:         "engine",
		Horizon:       time.Minute,
		PollEvery:     20 * time.Second,
		SweepEvery:    time.Second,
		BinariesEvery: 10 * time.Second,
		AlertsEvery:   10 * time.Second,
		RetryMin:      50 * time.Millisecond,
		RetryMax:      2 * time.Second,
		LoadChunk:     1000,
		Window:        256,
	}
}

// Machine decides what the owner of some shards reads, writes, publishes and acknowledges, and in which order. It
// belongs to one goroutine. Every Input is answered by Actions; most Actions are answered by an Input.
//
// Each shard is a unit by itself: one that is lost, or has to be read again, does not concern the others. They share a
// clock, the polls and sweeps, which ask for all of them at one time, and the commits, of which one is under way at a time.
type Machine struct {
	config Config
	random *rand.Rand
	units  [engine.Shards]*unit // nil for those that another engine owns
	epoch  uint64               // of the latest seat
	last   time.Time            // the latest time that Step was given

	writing   bool      // a commit is under way
	first     int       // the shard that comes first in the next one
	gather    time.Time // no commit begins before this: see gatherFor
	gathering bool      // a commit waits for that

	sweepAt    time.Time
	sweeping   bool
	sweepAgain bool // something was left while the sweep was under way
	sweepMore  bool // the store holds more than the last sweep brought: sweep again once a commit has cleared that
	binariesAt time.Time
	alertsAt   time.Time

	unread  []Active        // what is to be read because it has not ended, the most urgent first
	reading map[string]bool // uids of these that are being read

	gate gate
}

// NewMachine makes a machine that owns nothing yet: give it Owned.
func NewMachine(config Config, now time.Time, random *rand.Rand) *Machine {
	return &Machine{
		config: config, random: random, binariesAt: now.Add(config.BinariesEvery), alertsAt: now.Add(config.AlertsEvery), reading: map[string]bool{}, gate: newGate(config.Window, now),
	}
}

// Stats counts what the cores hold, and what is being written.
func (m *Machine) Stats() core.Stats {
	var all core.Stats
	m.working(func(u *unit) {
		stats := u.core.Stats()
		if u.commit != nil {
			stats.Unwritten += u.commit.Of
			if !u.commit.Since.IsZero() {
				stats.Since = u.commit.Since
			}
		}
		all.Jobs += stats.Jobs
		all.DAGs += stats.DAGs
		all.Runs += stats.Runs
		all.Timers += stats.Timers
		all.Unwritten += stats.Unwritten
		if !stats.Since.IsZero() && (all.Since.IsZero() || stats.Since.Before(all.Since)) {
			all.Since = stats.Since
		}
	})
	return all
}

// Held counts the queued runs whose tasks are kept back from the queue.
func (m *Machine) Held() []engine.HeldRuns { return m.gate.count() }

// Counts returns how many runs of each namespace wait, and run.
func (m *Machine) Counts() map[string]engine.RunCount {
	all := map[string]engine.RunCount{}
	m.working(func(u *unit) { u.core.Counts(all) })
	return all
}

// Running reports whether all shards that the machine owns have recovered, and all of them that has not ended is read.
func (m *Machine) Running() bool {
	for _, u := range m.units {
		if u != nil && (!u.running || u.unread != nil) {
			return false
		}
	}
	return true
}

// Step takes one input at one instant and returns what is to be done, in this order.
func (m *Machine) Step(now time.Time, input Input) []Action {
	var out actions
	now = now.Round(0) // from here on only the wall clock counts
	m.watchClock(&out, now)
	switch in := input.(type) {
	case Owned:
		m.onOwned(&out, now, in)
	case Bounded:
		m.gate.bounds = in.Running
		m.releaseAll(&out)
	case Clock:
	case Recovered:
		m.onRecovered(&out, now, in)
	case Polled:
		m.onPolled(&out, now, in)
	case Loaded:
		m.onLoaded(&out, now, in)
	case Swept:
		m.onSwept(&out, now, in)
	case CommandsLoaded:
		m.onCommandsLoaded(&out, now, in)
	case Answered:
		if u := m.unit(in.Seat); u != nil {
			m.step(&out, now, u, in.Event)
			switch e := in.Event.(type) {
			case core.AttemptRevoked:
				m.heard(&out, u, e.Run)
			case core.AttemptInspected:
				m.inspected(&out, u, e)
			}
		}
	case BinariesRead:
		m.working(func(u *unit) { m.step(&out, now, u, in.Changed) })
	case AlertsRead:
		m.working(func(u *unit) { m.step(&out, now, u, in.Rules) })
	case Results:
		if u := m.unit(in.Seat); u != nil {
			m.step(&out, now, u, core.ResultsReceived{Results: in.Results})
			u.arrive(in.Receipt)
			for i := range in.Results {
				m.heard(&out, u, in.Results[i].Run)
			}
		}
	case Woken:
		m.onWoken(&out, now, in.Wake)
	case Committed:
		m.onCommitted(&out, now, in)
	}
	m.onTime(&out, now)
	m.releaseBounded(&out)
	m.beginCommit(&out, now)
	return out.list
}

// clockSlack is how much the wall clock may go back without resetting timers: times that are awaited are late by
// no more than that.
const clockSlack = 500 * time.Millisecond

// standstill is how long Step is not called only where the engine was suspended: it is at least once a SweepEvery. An engine
// that was suspended may have lost its shards without knowing.
const standstill = 3 * time.Second

// watchClock sees that the engine was suspended, and that the wall clock went back. What waits for a time to pass would wait
// that much longer; Step comes at least once a SweepEvery, so that what it went back by is known well enough.
func (m *Machine) watchClock(out *actions, now time.Time) {
	by := m.last.Sub(now)
	if m.last.IsZero() || by < 0 {
		if !m.last.IsZero() && -by > standstill {
			m.stood()
		}
		m.last = now
		return
	}
	if by < clockSlack {
		return
	}
	m.last = now
	for _, at := range []*time.Time{&m.gather, &m.sweepAt, &m.binariesAt, &m.alertsAt, &m.gate.resizeAt} {
		if !at.IsZero() {
			*at = at.Add(-by)
		}
	}
	for _, u := range m.units {
		if u != nil {
			u.move(by)
		}
	}
	m.stood() // as far as this clock shows
	m.working(func(u *unit) { m.step(out, now, u, core.ClockWentBack{By: by}) })
}

// stood holds back all effects, also of shards that are being read, until a commit that is begun from now on is durable.
func (m *Machine) stood() {
	for _, u := range m.units {
		if u != nil {
			u.stood, u.stoodAt = true, u.number
		}
	}
}

// onTime does what the clock asks for.
func (m *Machine) onTime(out *actions, now time.Time) {
	m.recoverDue(out, now)
	m.working(func(u *unit) {
		if at, ok := u.core.Next(); ok && !at.After(now) {
			m.step(out, now, u, core.Tick{})
		}
	})
	m.pollDue(out, now)
	if !m.sweeping && !now.Before(m.sweepAt) {
		m.sweep(out)
	}
	if !now.Before(m.binariesAt) {
		m.binariesAt = now.Add(m.config.BinariesEvery)
		m.readBinaries(out)
	}
	if m.config.Core.Incidents && !now.Before(m.alertsAt) {
		m.alertsAt = now.Add(m.config.AlertsEvery)
		out.add(ReadAlerts{})
	}
	if !now.Before(m.gate.resizeAt) {
		m.gate.resize(now)
		m.releaseAll(out)
	}
}

// Next is when the machine wants a Clock input at the latest.
func (m *Machine) Next() time.Time {
	next := m.last.Add(m.config.SweepEvery) // by that it is known whether the engine was suspended
	sooner := func(at time.Time) {
		if at.Before(next) {
			next = at
		}
	}
	sooner(m.binariesAt)
	if m.config.Core.Incidents {
		sooner(m.alertsAt)
	}
	if m.gathering {
		sooner(m.gather)
	}
	working := false
	for _, u := range m.units {
		switch {
		case u == nil:
		case !u.running:
			if !u.at.IsZero() {
				sooner(u.at)
			}
		default:
			working = true
			if at, ok := u.core.Next(); ok {
				sooner(at)
			}
			if !u.polls {
				sooner(u.pollAt)
			}
			switch {
			case m.writing:
			case u.commit == nil && m.config.CheckEvery > 0:
				sooner(u.begun.Add(m.config.CheckEvery))
			case u.commit != nil && !u.commitAt.IsZero():
				sooner(u.commitAt)
			}
		}
	}
	if working && !m.sweeping {
		sooner(m.sweepAt)
	}
	return next
}

// wait is the pause before something that failed is done again: it doubles with each failure in a row.
func (m *Machine) wait(failures int) time.Duration {
	wait := m.config.RetryMin
	for range failures {
		wait *= 2
		if wait >= m.config.RetryMax {
			return m.config.RetryMax
		}
	}
	return wait
}
