package shard

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
)

// onOwned leaves what the machine does not own any more, and recovers what it owns from now on.
func (m *Machine) onOwned(out *actions, now time.Time, in Owned) {
	var owned [engine.Shards]bool
	for _, shard := range in.Shards {
		owned[shard] = true
	}
	for shard, u := range m.units {
		switch {
		case u != nil && !owned[shard]:
			m.units[shard] = nil
			out.add(Leave{Shard: shard})
		case u == nil && owned[shard]:
			m.units[shard] = m.newUnit(shard, now)
			m.units[shard].at = now
		}
	}
	m.forgetLeft(out)
}

// recoverDue recovers the shards whose time it is, together.
func (m *Machine) recoverDue(out *actions, now time.Time) {
	var seats []Seat
	for _, u := range m.units {
		if u != nil && !u.running && !u.at.IsZero() && !now.Before(u.at) {
			u.at = time.Time{}
			seats = append(seats, u.seat)
		}
	}
	if len(seats) > 0 {
		out.add(Recover{Seats: seats})
	}
}

// onRecovered begins the work once all runs that have not ended are in memory.
func (m *Machine) onRecovered(out *actions, now time.Time, in Recovered) {
	var jobs map[int]*core.JobsLoaded
	if !in.Failed {
		jobs = in.Jobs.ByShard()
	}
	for i, seat := range in.Seats {
		u := m.unit(seat)
		switch {
		case u == nil || u.running:
		case in.Failed:
			u.failures++
			u.at = now.Add(m.wait(u.failures))
		default:
			u.running, u.failures = true, 0
			u.term, u.position = in.Terms[i].Number, in.Terms[i].Position
			u.pollAt, u.begun = now, now
			loaded := core.JobsLoaded{Binaries: in.Jobs.Binaries}
			if of := jobs[seat.Shard]; of != nil {
				loaded = *of
			}
			m.step(out, now, u, loaded)
			out.add(Listen{Seat: seat})
		}
	}
}

// fall forgets a shard and reads it again, after a while: another engine has taken it over. If that is right, then this one
// hears before that it owns the shard no more. Results that were not acknowledged come again.
func (m *Machine) fall(out *actions, now time.Time, u *unit) {
	shard := u.seat.Shard
	m.units[shard] = m.newUnit(shard, now)
	m.units[shard].at = now.Add(m.config.RetryMax)
	out.add(Leave{Shard: shard, Why: engine.ErrFenced.Error()})
	m.forgetLeft(out)
}
