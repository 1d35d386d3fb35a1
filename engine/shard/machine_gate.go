package shard

import (
	"slices"

	"github.com/tidewheel/tidewheel/engine/core"
)

// perform has an effect of a core done, now or when the gate lets it.
func (m *Machine) perform(out *actions, u *unit, effect core.Effect) {
	switch e := effect.(type) {
	case core.Publish:
		m.publish(out, u, e)
		return
	case core.Inspect:
		if p := m.gate.of(u, e.Run, e.Attempt); p != nil && !p.inside && u.core.Awaits(e.Run, e.Attempt) {
			return // the queue does not have its task, and is not to have it yet
		}
	}
	u.perform(out, effect)
}

// publish lets the task of an attempt into the queue, or holds the attempt. What is published again is not held twice; it is held
// where more tasks are in the queue than the window lets in, as a former owner's are.
func (m *Machine) publish(out *actions, u *unit, publish core.Publish) {
	task := publish.Task
	p := m.gate.of(u, task.Run, task.Attempt)
	switch {
	case p != nil && p.inside && p.lane.inside <= p.lane.window: // the queue may have lost it
		u.perform(out, publish)
		return
	case p != nil && !p.inside:
		p.again = p.again || task.Again
		return
	}
	p = m.gate.begin(u, task)
	if len(p.lane.held) > 0 || p.lane.inside >= p.lane.window || m.full(p.lane) {
		m.gate.hold(p)
		return
	}
	m.gate.let(p)
	u.perform(out, publish)
}

// heard looks at an attempt of which there is news: if no executor can claim it any more, others go in its place.
func (m *Machine) heard(out *actions, u *unit, run string) {
	if p := m.gate.attempts[run]; p != nil && p.unit == u && !u.core.Queued(p.run, p.attempt) {
		m.gate.end(p)
		m.release(out, p.lane)
	}
}

// inspected counts an attempt that a former owner of the shard has published, once it is found in the queue.
func (m *Machine) inspected(out *actions, u *unit, e core.AttemptInspected) {
	if m.gate.attempts[e.Run] == nil && e.State.Waits {
		if task := u.core.Task(e.Run, e.Attempt, false); task != nil {
			m.gate.let(m.gate.begin(u, task))
		}
	}
	m.heard(out, u, e.Run)
}

// full reports whether as many runs of a lane's namespace are under way as may be. One of which the engine has just heard that it
// runs may count twice for a moment.
func (m *Machine) full(l *lane) bool {
	if !m.gate.bounded(l) {
		return false
	}
	underWay := m.gate.inside[l.key.namespace]
	m.working(func(u *unit) { underWay += u.core.Count(l.key.namespace).Running })
	return underWay >= m.gate.bounds[l.key.namespace]
}

// release lets into the queue what a lane has room for. Lanes of a namespace that has a bound take turns instead.
func (m *Machine) release(out *actions, l *lane) {
	for !m.gate.bounded(l) && m.releaseOne(out, l) {
	}
}

// releaseOne lets one attempt of a lane into the queue; false: there is none, or no room for it.
func (m *Machine) releaseOne(out *actions, l *lane) bool {
	for p := m.gate.next(l); p != nil; p = m.gate.next(l) {
		task := p.unit.core.Task(p.run, p.attempt, p.again)
		if task == nil {
			m.gate.end(p)
			continue
		}
		m.gate.let(p)
		p.unit.perform(out, core.Publish{Task: task})
		return true
	}
	return false
}

// releaseBounded lets the lanes of each namespace that has a bound release one attempt after the other, as long as the bound allows.
func (m *Machine) releaseBounded(out *actions) {
	if len(m.gate.bounds) == 0 {
		return
	}
	for released := true; released; {
		released = false
		for _, l := range slices.Clone(m.gate.holding) {
			if m.gate.bounded(l) && !m.full(l) && m.releaseOne(out, l) {
				m.gate.last(l)
				released = true
			}
		}
	}
}

// releaseAll looks at all lanes that hold something, after windows have changed or much has left them.
func (m *Machine) releaseAll(out *actions) {
	for _, l := range slices.Clone(m.gate.holding) {
		m.release(out, l)
	}
}

// forgetLeft takes the attempts out of the gate whose shard is another engine's by now.
func (m *Machine) forgetLeft(out *actions) {
	for _, p := range m.gate.attempts { // the order does not matter: it only counts
		if m.unit(p.unit.seat) == nil {
			m.gate.end(p)
		}
	}
	m.releaseAll(out)
}
