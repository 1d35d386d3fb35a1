package sim

import (
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// owners says which engine owns which shard, where there are several: a model of the leases, and no more of them than
// what engines are told. How engines come to agree is engine/lease's, which has a test of its own; here shards move at
// random, and the owner before may hear of it long afterwards, and act until then.
type owners struct {
	w  *world
	of [engine.Shards]owner
}

type owner struct {
	engine *driver
	number int // of its incarnation
}

// look is how often shards are looked after.
const look = 400 * time.Millisecond

func newOwners(w *world) *owners { return &owners{w: w} }

// several tells whether shards move at all: one engine alone owns them all, without a lease.
func (o *owners) several() bool { return len(o.w.engines) > 1 }

// begin spreads the shards, and looks after them from then on.
func (o *owners) begin() {
	if !o.several() {
		return
	}
	for shard := range o.of {
		e := pick(o.w, o.w.engines...)
		o.of[shard] = owner{e, e.number}
	}
	o.turn()
}

// living are the engines that the table shows.
func (o *owners) living() []*driver {
	var living []*driver
	for _, e := range o.w.engines {
		if !e.group.dead {
			living = append(living, e)
		}
	}
	return living
}

// has tells whether an engine is the owner of a shard.
func (o *owners) has(e *driver, shard int) bool {
	return !o.several() || o.of[shard] == owner{e, e.number}
}

// turn gives shards whose lease has ended to others, and tells engines what they have.
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
			*at = owner{e, e.number}
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
// taken, while it goes on until it hears of that.
func (o *owners) move(f fault) bool {
	living := o.living()
	if !o.several() || len(living) < 2 {
		return false
	}
	to := pick(o.w, living...)
	for shard := range o.of {
		from := o.of[shard].engine
		if from == to || !o.w.odds(0.5) {
			continue
		}
		if f == shardsTaken || from.group.dead || from.stands() {
			o.of[shard] = owner{to, to.number}
			continue
		}
		before := o.of[shard]
		from.believes[shard], from.dirty = false, true
		number := to.number
		from.whenLanded(func() {
			if o.of[shard] == before {
				o.of[shard] = owner{to, number}
			}
		})
	}
	for _, e := range living {
		if e.dirty {
			e.dirty = false
			e.own()
			e.landed()
		}
	}
	return true
}

// twoOwners tells whether two engines may have prepared a run as one and the same. Where one of them then drops it, for an
// edit that the other has not heard of, that one publishes it at its slot all the same, before its write is refused: a
// program runs of which there is no run. It takes two owners and an edit in the quarter of a second before a slot, and is
// the price of publishing at the slot, instead of after a write.
func (u *users) twoOwners(run string) bool {
	m := u.byUID[engine.RunJob(run)]
	return m != nil && m.late
}

// stale tells whether an engine writes about a shard that is not its own.
func (o *owners) stale(e *driver, batch *engine.Batch) bool {
	for i := range batch.Runs {
		if !o.has(e, batch.Runs[i].Run.Shard) {
			return true
		}
	}
	for i := range batch.Waves {
		if !o.has(e, batch.Waves[i].Wave.Shard) {
			return true
		}
	}
	for i := range batch.Slots {
		uid, _, _ := strings.Cut(batch.Slots[i].JobUID, "-")
		if !o.has(e, engine.ShardOf(uid)) {
			return true
		}
	}
	return false
}
