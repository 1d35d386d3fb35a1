package shard

import (
	"slices"
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

// onRecovered begins the work. What is due does not wait for all that has not ended to be read: a job or DAG is always read with
// all its runs. Only results wait, which may be of any run.
func (m *Machine) onRecovered(out *actions, now time.Time, in Recovered) {
	active := in.Active
	slices.SortStableFunc(active, func(a, b Active) int { return b.Slot.Compare(a.Slot) }) // a prepared run is the most urgent
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
			u.unread = map[string]bool{}
			m.takeIncidents(out, now, u, in)
		}
	}
	for _, a := range active {
		if u := m.at(engine.ShardOf(a.UID)); u != nil && u.unread != nil && slices.Contains(in.Seats, u.seat) {
			u.unread[a.UID] = true
			m.unread = append(m.unread, a)
		}
	}
	m.readOn(out)
}

// takeIncidents gives a core what namespaces ask for, and the incidents of its shard, before anything else.
func (m *Machine) takeIncidents(out *actions, now time.Time, u *unit, in Recovered) {
	if !m.config.Core.Incidents {
		return
	}
	m.step(out, now, u, in.Alerts)
	var loaded core.IncidentsLoaded
	for _, incident := range in.Incidents {
		if incident.Shard == u.seat.Shard {
			loaded.Incidents = append(loaded.Incidents, incident)
		}
	}
	m.step(out, now, u, loaded)
}

// readMost bounds the runs that are read at one time of what has not ended, beside those of the first job or DAG: reading them
// keeps the others waiting.
const readMost = 250

// readOn reads what has not ended, some at a time, and has results come of the shards of which all is read.
func (m *Machine) readOn(out *actions) {
	m.working(func(u *unit) {
		if u.unread != nil && len(u.unread) == 0 {
			u.unread = nil
			out.add(Listen{Seat: u.seat})
		}
	})
	if len(m.reading) > 0 {
		return
	}
	var uids []string
	for runs := 0; len(m.unread) > 0; m.unread = m.unread[1:] {
		next := &m.unread[0]
		if u := m.at(engine.ShardOf(next.UID)); u == nil || !u.unread[next.UID] {
			continue // the shard is another's, or it has been read for another reason
		}
		if runs += 1 + next.Runs; len(uids) > 0 && runs > readMost {
			break
		}
		uids = append(uids, next.UID)
		m.reading[next.UID] = true
	}
	m.load(out, uids)
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
