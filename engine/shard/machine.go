package shard

import (
	"math/rand/v2"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// Config holds the shell's times. DefaultConfig gives what production uses.
type Config struct {
	Core engine.Config
	// Horizon is how far ahead scheduled tasks are held in memory; PollEvery is how often it moves on.
	Horizon   time.Duration
	PollEvery time.Duration
	// SweepEvery is how often the store is asked for jobs and commands whose wake was lost.
	SweepEvery time.Duration
	// BinariesEvery is how often the binaries of jobs in memory are read again.
	BinariesEvery time.Duration
	// ReconcileEvery is how often the runs that have not ended are compared with those in memory.
	ReconcileEvery time.Duration
	// RetryMin and RetryMax bound the wait before something that failed is done again.
	RetryMin time.Duration
	RetryMax time.Duration
	// LoadChunk is how many jobs are loaded at one time.
	LoadChunk int
	// ExactTimers waits for slots with timers of the kernel's where it has them. They do not follow a test's clock, so
	// that DefaultConfig leaves them out.
	ExactTimers bool
}

// DefaultConfig is what production uses.
func DefaultConfig() Config {
	return Config{
		Core:           engine.DefaultConfig(),
		Horizon:        time.Minute,
		PollEvery:      20 * time.Second,
		SweepEvery:     time.Second,
		BinariesEvery:  10 * time.Second,
		ReconcileEvery: time.Minute,
		RetryMin:       50 * time.Millisecond,
		RetryMax:       2 * time.Second,
		LoadChunk:      1000,
	}
}

// Machine decides what the owner of some shards reads, writes, publishes and acknowledges, and in which order. It
// belongs to one goroutine. Every Input is answered by Actions; most Actions are answered by an Input that carries
// the action's Epoch, so that answers from before a reset are told apart.
type Machine struct {
	config Config
	random *rand.Rand
	core   *engine.Core
	epoch  uint64
	others [engine.Shards]bool // shards that somebody else owns
	last   time.Time           // the latest time that Step was given

	phase    phase
	phaseAt  time.Time // when a failed phase is tried again
	failures int       // in a row, of the present phase

	commit     *engine.Ready   // under way, or waiting to be tried again
	parts      []*engine.Batch // of it, those that are not durable, the one under way first
	refused    []engine.Run    // what the store has of runs whose insertion was refused
	gather     time.Time       // no commit begins before this: see gatherFor
	gathering  bool            // a commit waits for that
	commitAt   time.Time       // when it is tried again; zero while it is under way
	begun      time.Time       // when the commit was
	stood      time.Time       // when the engine was seen last to have stood still; zero where nobody else may own its shards
	writing    uint64          // the epoch of the write under way, 0 while there is none
	commitFail int
	strange    int       // results that are being looked up: until it is known whose they are nothing is acknowledged
	withheld   []Receipt // acknowledged then
	doomed     string    // why the machine begins anew as soon as the commit under way is answered
	anewAt     time.Time // no sooner does it because the core wants it
	arrived    []arrived // acknowledged once what has been decided until then is durable

	horizon  time.Time
	pollAt   time.Time
	polls    bool      // a poll is under way
	polling  time.Time // the horizon before, meanwhile
	pollFail int

	sweepAt     time.Time
	sweeping    bool
	sweepAgain  bool // something was left while the sweep was under way
	sweepMore   bool // the store holds more than the last sweep brought: sweep again once a commit has cleared that
	binariesAt  time.Time
	reconcileAt time.Time
	commands    map[string]bool // being acted upon, or waiting to be deleted
	loading     map[string]bool // jobs whose load is under way
	again       map[string]bool // of those, jobs that changed meanwhile
}

type phase uint8

const (
	phaseRecover phase = iota + 1 // active runs are being read
	phaseRun
)

// NewMachine makes a machine that is at work on nothing yet: give it Start, and it is, on all shards of its driver's
// Loader.
func NewMachine(config Config, now time.Time, random *rand.Rand) *Machine {
	m := &Machine{config: config, random: random}
	m.clear(now)
	return m
}

// onOwned begins anew with other shards.
func (m *Machine) onOwned(out *actions, now time.Time, in Owned) {
	for shard := range m.others {
		m.others[shard] = true
	}
	for _, shard := range in.Shards {
		m.others[shard] = false
	}
	m.clear(now)
	m.failures = 0
	if m.writing == 0 {
		out.add(Recover{Epoch: m.epoch, Due: m.due()})
	}
}

// landed is told of every answer to a write, whatever epoch it is of. What is read while a write is under way may have
// one part of it and not the others: so nothing is, not even after a change of what the machine owns.
func (m *Machine) landed(out *actions, in Committed) {
	if m.writing == 0 || in.Epoch != m.writing {
		return
	}
	m.writing = 0
	if in.Epoch != m.epoch {
		out.add(Recover{Epoch: m.epoch, Due: m.due()})
	}
}

func (m *Machine) clear(now time.Time) {
	m.epoch++
	m.core = engine.NewCore(m.config.Core, now, m.random)
	m.phase, m.phaseAt = phaseRecover, time.Time{}
	m.commit, m.commitAt, m.commitFail = nil, time.Time{}, 0
	m.parts, m.refused = nil, nil
	m.gather, m.gathering = time.Time{}, false
	m.arrived = nil
	m.strange, m.withheld, m.doomed = 0, nil, ""
	m.horizon = time.Time{}
	m.polls, m.pollAt, m.pollFail = false, time.Time{}, 0
	m.sweeping, m.sweepAgain, m.sweepMore, m.sweepAt = false, false, false, time.Time{}
	m.binariesAt = now.Add(m.config.BinariesEvery)
	m.reconcileAt = now.Add(m.config.ReconcileEvery)
	m.commands, m.loading, m.again = map[string]bool{}, map[string]bool{}, map[string]bool{}
}

// Stats counts what the core holds, and what is being written.
func (m *Machine) Stats() engine.Stats {
	stats := m.core.Stats()
	if m.commit != nil {
		stats.Unwritten += m.commit.Of
		stats.Since = m.commit.Since
	}
	return stats
}

// Running reports whether the machine has recovered and is at work.
func (m *Machine) Running() bool { return m.phase == phaseRun }

// Step takes one input at one instant and returns what is to be done, in this order.
func (m *Machine) Step(now time.Time, input Input) []Action {
	var out actions
	now = now.Round(0) // from here on only the wall clock counts
	m.watchClock(&out, now)
	if committed, ok := input.(Committed); ok {
		m.landed(&out, committed)
	}
	if e, ok := input.(answer); ok && e.epochOf() != m.epoch {
		return out.list
	}
	switch in := input.(type) {
	case Start:
		out.add(Recover{Epoch: m.epoch, Due: m.due()})
	case Owned:
		m.onOwned(&out, now, in)
	case Clock:
		if m.phase == phaseRun {
			m.step(&out, now, engine.Tick{})
		}
	case Recovered:
		m.onRecovered(&out, now, in)
	case Polled:
		m.onPolled(&out, now, in)
	case Loaded:
		m.onLoaded(&out, now, in)
	case Swept:
		m.onSwept(&out, now, in)
	case CommandLoaded:
		m.onCommandLoaded(&out, now, in)
	case Answered:
		m.step(&out, now, in.Event)
	case Results:
		m.onResults(&out, now, in)
	case StrangeRead:
		m.onStrange(&out, now, in)
	case Woken:
		m.onWoken(&out, now, in.Wake)
	case Committed:
		m.onCommitted(&out, now, in)
	case Reconciled:
		m.onReconciled(&out, in)
	case RefusedRead:
		m.onRefused(&out, now, in)
	}
	m.onTime(&out, now)
	m.beginCommit(&out, now)
	return out.list
}

// due is the latest slot that an engine before this one may have worked on.
func (m *Machine) due() time.Time { return m.last.Add(m.config.Core.Lead + 2*time.Second) }

// clockSlack is how much the wall clock may go back without anything being set anew: times that are awaited are late by
// no more than that.
const clockSlack = 500 * time.Millisecond

// watchClock sees that the engine stood still, and that the wall clock went back. What waits for a time to pass would wait that much longer; Step comes at
// least once a SweepEvery, so that what it went back by is known well enough.
func (m *Machine) watchClock(out *actions, now time.Time) {
	by := m.last.Sub(now)
	if m.last.IsZero() || by < 0 {
		if m.config.Core.Writer != 0 && !m.last.IsZero() && -by > standstill {
			m.stood = now
		}
		m.last = now
		return
	}
	if by < clockSlack {
		return
	}
	m.last = now
	for _, at := range []*time.Time{&m.phaseAt, &m.commitAt, &m.begun, &m.stood, &m.gather, &m.pollAt, &m.sweepAt, &m.binariesAt, &m.reconcileAt, &m.anewAt} {
		if !at.IsZero() {
			*at = at.Add(-by)
		}
	}
	if m.phase == phaseRun {
		m.step(out, now, engine.ClockWentBack{By: by})
	}
}

// anewEvery is how seldom a core that wants to read everything anew may: should that not help, all other work goes on.
const anewEvery = 10 * time.Second

func (m *Machine) step(out *actions, now time.Time, event engine.Event) {
	anew := false
	for _, effect := range m.core.Step(now, event) {
		if read, is := effect.(engine.ReadAnew); is {
			if !now.Before(m.anewAt) {
				m.doomed, m.anewAt, anew = read.Why, now.Add(anewEvery), true
			}
			continue
		}
		out.add(Perform{Epoch: m.epoch, Effect: effect})
	}
	if anew {
		m.fall(out, now)
	}
}

// onTime does what the clock asks for besides the core's own timers.
func (m *Machine) onTime(out *actions, now time.Time) {
	if m.phase == phaseRecover {
		if !m.phaseAt.IsZero() && !now.Before(m.phaseAt) {
			m.phaseAt = time.Time{}
			out.add(Recover{Epoch: m.epoch, Due: m.due()})
		}
		return
	}
	if !m.polls && !now.Before(m.pollAt) {
		m.polling, m.polls = m.horizon, true
		m.horizon = now.Add(m.config.Horizon)
		m.step(out, now, engine.HorizonMoved{Until: m.horizon})
		out.add(Poll{Epoch: m.epoch, After: m.polling, Until: m.horizon})
	}
	if !m.sweeping && !now.Before(m.sweepAt) {
		m.sweeping = true
		out.add(Sweep{Epoch: m.epoch})
	}
	if !now.Before(m.binariesAt) {
		m.binariesAt = now.Add(m.config.BinariesEvery)
		if keys := m.core.BinaryKeys(); len(keys) > 0 {
			out.add(ReadBinaries{Epoch: m.epoch, Keys: keys})
		}
	}
	if !now.Before(m.reconcileAt) {
		m.reconcileAt = now.Add(m.config.ReconcileEvery)
		out.add(Reconcile{Epoch: m.epoch, Until: now.Add(-overdueAfter)})
	}
	if m.commit != nil && !m.commitAt.IsZero() && !now.Before(m.commitAt) {
		m.commitAt = time.Time{}
		m.writePart(out)
	}
}

// overdueAfter is how long a slot may have passed before it is suspicious that its task has not moved on.
const overdueAfter = 2 * time.Second

// Next is when the machine wants a Clock input at the latest.
func (m *Machine) Next() time.Time {
	if m.phase == phaseRecover {
		return m.phaseAt // zero: it waits for an answer
	}
	next := m.last.Add(m.config.SweepEvery) // the core knows by that whether the engine stood still
	if m.binariesAt.Before(next) {
		next = m.binariesAt
	}
	if m.reconcileAt.Before(next) {
		next = m.reconcileAt
	}
	sooner := func(at time.Time) {
		if at.Before(next) {
			next = at
		}
	}
	if at, ok := m.core.Next(); ok {
		sooner(at)
	}
	if !m.polls {
		sooner(m.pollAt)
	}
	if !m.sweeping {
		sooner(m.sweepAt)
	}
	if m.commit != nil && !m.commitAt.IsZero() {
		sooner(m.commitAt)
	}
	if m.gathering {
		sooner(m.gather)
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

// reset forgets everything and reads it again: a write was refused, so somebody else has written what this machine
// believed to own. Results that were not acknowledged come again.
func (m *Machine) reset(out *actions, now time.Time, why string) {
	m.clear(now)
	m.failures++
	m.phaseAt = now.Add(m.wait(m.failures))
	out.add(Reset{Epoch: m.epoch, Why: why})
}
