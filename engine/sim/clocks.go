package sim

import "time"

// Every node has a clock of its own: it may be off, and it may go too fast or too slow. That of the queue's server is the
// world's, by which locks and leases end.

const (
	// setRight is by how much a clock that drifts gets off before it is set right, all at once, as daemons of NTP do.
	setRight = 700 * time.Millisecond
	// apart is how far the clocks of two nodes that schedule or write definitions are apart at most (docs/guarantees.md).
	apart = 3 * time.Second
)

// clock is the clock of one node.
type clock struct {
	w     *world
	skew  time.Duration
	drift time.Duration // by how much it goes too fast in a second

	latest time.Time // that was read from it while the world's was off by this much
	offset time.Duration
}

// driftOf says by how much a clock goes too fast in d.
func (c *clock) driftOf(d time.Duration) time.Duration {
	return d * (c.drift / time.Microsecond) / 1_000_000
}

// offBy is how far it is ahead of the world's.
func (c *clock) offBy() time.Duration { return c.skew + c.driftOf(c.w.troubled())%setRight }

// wall is what it shows.
func (c *clock) wall() time.Time { return c.w.wall().Add(c.offBy()) }

// read is what it shows to who decides by it.
func (c *clock) read() time.Time {
	now := c.wall()
	if c.offset != c.w.offset || now.After(c.latest) {
		c.latest, c.offset = now, c.w.offset
	}
	return now
}

// shown is the latest time that an engine may have decided by: a clock that is corrected may go back.
func (c *clock) shown() time.Time {
	c.read()
	return c.latest
}

// stamp is what it shows, as it is written down.
func (c *clock) stamp() time.Time { return c.wall().Truncate(time.Millisecond) }

// lasts is how long it takes until this much has passed on it.
func (c *clock) lasts(d time.Duration) time.Duration {
	if !c.w.faults.active {
		return d
	}
	return d - c.driftOf(d)
}

// steady is how much time has passed on it, without what it was set right by.
func (c *clock) steady() time.Duration { return c.w.elapsed + c.driftOf(c.w.troubled()) }

// troubled is for how long there have been misfortunes.
func (w *world) troubled() time.Duration {
	if w.faults.active {
		return w.elapsed
	}
	return w.faults.ended
}

// drawClocks draws how wrong the nodes' clocks are: those of executors by minutes, those of others within what is allowed.
func (w *world) drawClocks(share float64) {
	draw := func(c *clock, who string, skews ...time.Duration) {
		if w.odds(share) {
			skew := pick(w, skews...)
			if !w.leaves(string(clockOff)) {
				c.skew = skew
				w.note("clock off", who, skew.String(), 0)
				w.counts.add("fault", string(clockOff))
			}
		}
		if w.odds(share) {
			drift := pick(w, 100*time.Microsecond, 10*time.Millisecond, 30*time.Millisecond) * pick[time.Duration](w, 1, -1)
			if !w.leaves(string(clockDrifts)) {
				c.drift = drift
				w.note("clock drifts", who, drift.String(), 0)
				w.counts.add("fault", string(clockDrifts))
			}
		}
	}
	within := (apart - 2*setRight) / 2
	for _, e := range w.engines {
		draw(&e.time, e.name, 70*time.Millisecond, -70*time.Millisecond, within, -within)
	}
	for _, x := range w.executors {
		draw(&x.time, x.name, 70*time.Millisecond, -70*time.Millisecond, 7*time.Minute, -7*time.Minute)
	}
	draw(&w.users.time, "users", 70*time.Millisecond, -70*time.Millisecond, within, -within)
}
