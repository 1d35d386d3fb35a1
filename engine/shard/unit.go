package shard

import (
	"time"

	"github.com/tidewheel/tidewheel/engine/core"
)

// unit is one shard that the machine owns: a core of its own, and how far it has come with the store.
type unit struct {
	seat Seat
	core *core.Core

	running  bool            // it has recovered: what is due fires
	unread   map[string]bool // jobs and DAGs of which something has not ended, and that have not been read since; nil once all are
	at       time.Time       // until then it is not recovered again; zero while that is under way
	failures int             // of recovering, in a row

	term     uint64
	position uint64 // of its last commit

	commit     *core.Ready // under way, or waiting to be retried
	begun      time.Time   // when the latest was given to the store first
	commitAt   time.Time   // when it is retried; zero while it is under way
	commitFail int
	number     uint64    // of commits that were begun
	proved     uint64    // the number of the latest that is durable: when that was begun the shard was this engine's
	durable    uint64    // the mark up to which everything is
	arrived    []arrived // deliveries that are not acknowledged

	// The engine was suspended, and the shard may be another's: no effect is performed before a commit that was begun later.
	stood   bool
	stoodAt uint64 // number of the latest commit before
	held    []core.Effect

	horizon  time.Time
	polling  time.Time // the horizon before, while a poll is under way
	polls    bool
	pollAt   time.Time
	pollFail int

	commands map[string]bool // being acted upon, or waiting to be deleted
	asking   map[string]bool // jobs and DAGs of which commands are being read
	loading  map[string]bool // jobs whose load is under way
	again    map[string]bool // of those, jobs that changed meanwhile
}

// arrived is a delivery that has led to nothing beyond the mark.
type arrived struct {
	receipt Receipt
	mark    uint64
	number  uint64 // of the latest commit before
}

func (m *Machine) newUnit(shard int, now time.Time) *unit {
	m.epoch++
	return &unit{
		seat: Seat{Shard: shard, Epoch: m.epoch}, core: core.NewCore(m.config.Core, now, m.random),
		commands: map[string]bool{}, asking: map[string]bool{}, loading: map[string]bool{}, again: map[string]bool{},
	}
}

// unit returns the one that has a seat, nil if it has left it.
func (m *Machine) unit(seat Seat) *unit {
	if u := m.units[seat.Shard]; u != nil && u.seat == seat {
		return u
	}
	return nil
}

// at returns the unit of a shard that is at work, nil if it is not.
func (m *Machine) at(shard int) *unit {
	if u := m.units[shard]; u != nil && u.running {
		return u
	}
	return nil
}

// working calls do for each unit that is at work.
func (m *Machine) working(do func(u *unit)) {
	for _, u := range m.units {
		if u != nil && u.running {
			do(u)
		}
	}
}

func (m *Machine) step(out *actions, now time.Time, u *unit, event core.Event) {
	for _, effect := range u.core.Step(now, event) {
		m.perform(out, u, effect)
	}
}

// perform has an effect done, once it is sure that the shard is still this engine's.
func (u *unit) perform(out *actions, effect core.Effect) {
	if u.stood {
		u.held = append(u.held, effect)
		return
	}
	out.add(Perform{Seat: u.seat, Effect: effect})
}

// arrive takes the receipt of a delivery that the core has dealt with.
func (u *unit) arrive(receipt Receipt) {
	u.arrived = append(u.arrived, arrived{receipt: receipt, mark: u.core.Mark(), number: u.number})
}

// acknowledge acknowledges deliveries to the queue whose effects are all durable. Where shards move, a commit that was begun
// later must be durable, too: an engine that has lost its shard does not know the runs of these results, and would take the
// results from the engine that does.
func (u *unit) acknowledge(out *actions, shared bool) {
	n := 0
	for n < len(u.arrived) && u.arrived[n].mark <= u.durable && (!shared || u.arrived[n].number < u.proved) {
		out.add(Acknowledge{Receipt: u.arrived[n].receipt})
		n++
	}
	u.arrived = u.arrived[n:]
}

// move shifts what waits for a time to pass, after the wall clock went back.
func (u *unit) move(by time.Duration) {
	for _, at := range []*time.Time{&u.at, &u.begun, &u.commitAt, &u.pollAt} {
		if !at.IsZero() {
			*at = at.Add(-by)
		}
	}
}
