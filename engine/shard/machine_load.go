package shard

import (
	"maps"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/core"
)

// firstHorizon is how far ahead a shard that was taken over looks at first: what is due soon does not wait for the rest.
const firstHorizon = 2 * time.Second

// pollDue asks for what comes due in the shards whose turn it is, together for those that were asked for until one instant.
func (m *Machine) pollDue(out *actions, now time.Time) {
	var due []*unit
	m.working(func(u *unit) {
		if !u.polls && !now.Before(u.pollAt) {
			due = append(due, u)
		}
	})
	for len(due) > 0 {
		until := now.Add(m.config.Horizon)
		if due[0].horizon.IsZero() {
			until = now.Add(min(firstHorizon, m.config.Horizon))
		}
		poll := Poll{After: due[0].horizon, Until: until}
		var rest []*unit
		for _, u := range due {
			if !u.horizon.Equal(poll.After) {
				rest = append(rest, u)
				continue
			}
			u.polling, u.polls, u.horizon = u.horizon, true, until
			m.step(out, now, u, core.HorizonMoved{Until: until})
			poll.Seats = append(poll.Seats, u.seat)
		}
		out.add(poll)
		due = rest
	}
}

// onPolled loads the due jobs.
func (m *Machine) onPolled(out *actions, now time.Time, in Polled) {
	for _, seat := range in.Seats {
		u := m.unit(seat)
		if u == nil {
			continue
		}
		u.polls = false
		if in.Failed {
			u.horizon = u.polling // the next poll covers the same span again
			u.pollAt = now.Add(m.wait(u.pollFail))
			u.pollFail++
			continue
		}
		u.pollFail = 0
		u.pollAt = now.Add(m.config.PollEvery)
		if u.polling.IsZero() {
			u.pollAt = now.Add(firstHorizon / 4)
		}
	}
	m.load(out, in.UIDs)
}

// load asks for jobs in chunks. A job that is being loaded already is loaded again afterwards.
func (m *Machine) load(out *actions, uids []string) {
	var fresh []string
	for _, uid := range uids {
		u := m.at(engine.ShardOf(uid))
		switch {
		case u == nil:
		case u.loading[uid]:
			u.again[uid] = true
		default:
			u.loading[uid] = true
			u.core.Hold(uid)
			fresh = append(fresh, uid)
		}
	}
	for chunk := range slices.Chunk(fresh, m.config.LoadChunk) {
		out.add(Load{Seats: m.seatsOf(chunk), UIDs: chunk})
	}
}

// seatsOf returns the seats of the shards of some jobs, each once.
func (m *Machine) seatsOf(uids []string) []Seat {
	var seats []Seat
	var seen [engine.Shards]bool
	for _, uid := range uids {
		if shard := engine.ShardOf(uid); !seen[shard] {
			seen[shard] = true
			seats = append(seats, m.units[shard].seat)
		}
	}
	return seats
}

func (m *Machine) onLoaded(out *actions, now time.Time, in Loaded) {
	if in.Failed {
		// The driver waits before it answers, so this does not spin.
		out.add(Load{Seats: in.Seats, UIDs: in.UIDs, Again: in.Again + 1})
		return
	}
	jobs := ByShard(&in.Jobs)
	var asked [engine.Shards]*unit
	for _, seat := range in.Seats {
		if asked[seat.Shard] = m.unit(seat); asked[seat.Shard] != nil && jobs[seat.Shard] != nil {
			m.step(out, now, asked[seat.Shard], *jobs[seat.Shard])
		}
	}
	var again []string
	for _, uid := range in.UIDs {
		delete(m.reading, uid)
		u := asked[engine.ShardOf(uid)]
		if u == nil {
			continue
		}
		delete(u.loading, uid)
		delete(u.unread, uid)
		u.core.LetGo(uid)
		if u.again[uid] {
			delete(u.again, uid)
			again = append(again, uid)
		}
	}
	m.load(out, again)
	m.readOn(out)
}

// sweep asks for what was left in the store.
func (m *Machine) sweep(out *actions) {
	var shards []int
	m.working(func(u *unit) { shards = append(shards, u.seat.Shard) })
	if len(shards) > 0 {
		m.sweeping = true
		out.add(Sweep{Shards: shards})
	}
}

// onSwept looks at what was left in the store.
func (m *Machine) onSwept(out *actions, now time.Time, in Swept) {
	m.sweeping = false
	m.sweepAt = now.Add(m.config.SweepEvery)
	if in.Failed {
		return // the next sweep comes soon enough
	}
	var fresh []string
	for _, uid := range in.Pending { // a sweep says nothing of a job that its load will not
		if u := m.at(engine.ShardOf(uid)); u != nil && !u.loading[uid] && !u.core.Acts(uid) {
			fresh = append(fresh, uid)
		}
	}
	m.load(out, fresh)
	m.obey(out, in.Commands)
	if m.sweepAgain {
		m.sweepAt, m.sweepAgain = now, false
	}
	m.sweepMore = in.More
}

// obey reads what commands are about. Those of one job or DAG are acted upon in their order: while some of it are being
// read, others wait for the next sweep.
func (m *Machine) obey(out *actions, commands []engine.Command) {
	of := map[string][]engine.Command{}
	var order []string
	for _, command := range commands {
		uid := command.JobUID
		if u := m.at(engine.ShardOf(uid)); u != nil && !u.commands[command.ID] && !u.asking[uid] {
			if of[uid] == nil {
				order = append(order, uid)
			}
			of[uid] = append(of[uid], command)
		}
	}
	for _, uid := range order {
		u := m.at(engine.ShardOf(uid))
		u.asking[uid] = true
		u.core.Hold(uid)
		for _, command := range of[uid] {
			u.commands[command.ID] = true
		}
		out.add(LoadCommands{Seat: u.seat, Commands: of[uid]})
	}
}

func (m *Machine) onCommandsLoaded(out *actions, now time.Time, in CommandsLoaded) {
	u := m.unit(in.Seat)
	if u == nil {
		return
	}
	uid := in.Commands[0].JobUID
	delete(u.asking, uid)
	defer u.core.LetGo(uid)
	if in.Failed {
		for _, command := range in.Commands {
			delete(u.commands, command.ID) // the next sweep finds it again
		}
		return
	}
	for _, received := range in.Received {
		m.step(out, now, u, received)
	}
	if m.sweeping {
		m.sweepAgain = true
	} else {
		m.sweepAt = time.Time{} // there may be others by now
	}
}

// readBinaries reads those binaries again that jobs in memory refer to.
func (m *Machine) readBinaries(out *actions) {
	used := map[string]bool{}
	m.working(func(u *unit) {
		for _, key := range u.core.BinaryKeys() {
			used[key] = true
		}
	})
	if len(used) > 0 {
		out.add(ReadBinaries{Keys: slices.Sorted(maps.Keys(used))})
	}
}

func (m *Machine) onWoken(out *actions, now time.Time, wake engine.Wake) {
	switch wake.Kind {
	case engine.WakeJob, engine.WakeDAG:
		m.load(out, []string{wake.Key})
	case engine.WakeCommand:
		if m.sweeping {
			m.sweepAgain = true
		} else {
			m.sweep(out)
		}
	case engine.WakeTask:
		if u := m.at(engine.ShardOf(engine.RunJob(wake.Key))); u != nil {
			m.step(out, now, u, core.TaskDropped{Run: wake.Key, Attempt: wake.Attempt})
		}
	case engine.WakeBinary:
		known := false
		m.working(func(u *unit) { known = known || u.core.KnowsBinary(wake.Key) })
		if known {
			out.add(ReadBinaries{Keys: []string{wake.Key}})
		}
	}
}

// ByShard splits loaded jobs and DAGs by their shards. Each shard gets all binaries.
func ByShard(l *core.JobsLoaded) map[int]*core.JobsLoaded {
	split := map[int]*core.JobsLoaded{}
	of := func(uid string) *core.JobsLoaded {
		shard := engine.ShardOf(uid)
		if split[shard] == nil {
			split[shard] = &core.JobsLoaded{Binaries: l.Binaries}
		}
		return split[shard]
	}
	for i := range l.Jobs {
		part := of(l.Jobs[i].UID)
		part.Jobs = append(part.Jobs, l.Jobs[i])
	}
	for i := range l.DAGs {
		part := of(l.DAGs[i].UID)
		part.DAGs = append(part.DAGs, l.DAGs[i])
	}
	return split
}
