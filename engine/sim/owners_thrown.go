package sim

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// look is how often shards are looked after.
const look = 400 * time.Millisecond

// throw gives each shard to any engine, and looks after them from then on.
func (o *owners) throw() {
	for shard := range o.of {
		e := pick(o.w, o.w.engines...)
		o.of[shard] = owner{engine: e, number: e.number}
	}
	o.turn()
}

// turn gives shards whose lease would have ended to others, and notifies engines of what they have.
func (o *owners) turn() {
	w := o.w
	living := o.living()
	for shard := range o.of {
		at := &o.of[shard]
		if len(living) > 0 && at.engine.leaseEnded(at.number) {
			e := pick(w, living...)
			if e.stands() && len(living) > 1 {
				continue // it takes nothing while it stands still
			}
			*at = owner{engine: e, number: e.number}
			w.counts.add("lease", "taken over")
		}
	}
	for _, e := range living {
		if !e.stands() {
			o.tell(e)
		}
	}
	w.after(look, o.turn)
}

// leaseEnded reports whether the leases of an incarnation would have ended.
func (e *driver) leaseEnded(number int) bool {
	switch {
	case e.number != number || e.group.dead:
		return e.w.elapsed >= e.ended+leaseTTL
	case e.stands():
		return e.w.elapsed >= e.stoodSince+leaseTTL
	}
	return false
}

// tell gives an engine what it has got, at once, and takes from it what it has lost, sooner or later.
func (o *owners) tell(e *driver) {
	changed, lost := false, false
	for shard := range o.of {
		mine := o.has(e, shard)
		if mine && !e.believes[shard] {
			e.believes[shard], changed = true, true
		}
		lost = lost || !mine && e.believes[shard]
	}
	if lost && e.loseAt == 0 {
		e.loseAt = o.w.elapsed
		if o.w.faults.active {
			e.loseAt += pick(o.w, 0, time.Second, 5*time.Second, 20*time.Second)
		}
	}
	if lost && (o.w.elapsed >= e.loseAt || !o.w.faults.active) {
		e.loseAt = 0
		for shard := range o.of {
			if e.believes[shard] && !o.has(e, shard) {
				e.believes[shard], changed = false, true
			}
		}
	}
	if changed {
		e.own()
	}
}

// move lets some shards go to other engines: handed over, the owner first lets go and what it has under way ends; or
// taken, while it continues until it hears of that.
func (o *owners) move(f fault) bool {
	living := o.living()
	if o.way != thrown || len(living) < 2 {
		return false
	}
	to := pick(o.w, living...)
	next := owner{engine: to, number: to.number}
	var handed [engine.Shards]bool
	for shard := range o.of {
		from := o.of[shard].engine
		if from == to || !o.w.odds(0.5) {
			continue
		}
		if f == shardsTaken || from.group.dead || from.stands() {
			o.of[shard] = next
			continue
		}
		handed[shard], from.believes[shard], from.dirty = true, false, true
	}
	for _, e := range living {
		if !e.dirty {
			continue
		}
		e.dirty = false
		before := owner{engine: e, number: e.number}
		e.own().then(func() {
			for shard := range o.of {
				if handed[shard] && o.of[shard] == before {
					o.of[shard] = next
				}
			}
		})
	}
	return true
}
