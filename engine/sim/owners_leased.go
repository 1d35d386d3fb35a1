package sim

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// What engines with leases are held to. ADR 18 and 22 say what two of them may do at once.
const (
	// wakesWithin is how long a process that stood still may continue by what it believed before.
	wakesWithin = 25 * time.Millisecond
	// takenWithin is how long a shard may be without an owner, once nothing goes wrong and there is an engine.
	takenWithin = leaseTTL + time.Second
	// handedWithin is how long shards are without an owner when theirs ends in good order.
	handedWithin = 100 * time.Millisecond
	// stampede is how many acquisitions are refused at most when an engine has gone and all else is calm: fewer than the
	// shards that become free, where there are two engines.
	stampede = engine.Shards / 2
	// watched is how often that is looked at.
	watched = 100 * time.Millisecond
)

// working notes that an engine works on these shards from now on, under these tokens.
func (o *owners) working(e *driver, shards []int, tokens []uint64) {
	w := o.w
	for i, shard := range shards {
		at := &o.of[shard]
		if token := tokens[i]; token > 0 && token <= w.leases.revision && !o.mayBelieve(e) { // else it may be one that was lost
			if token < o.tokens[shard] {
				w.fail("the token of a shard grows", "%s works on shard %d under token %d, after %d", e.group.name, shard, token, o.tokens[shard])
			}
			o.tokens[shard] = max(o.tokens[shard], token)
		}
		if at.engine == e && at.number == e.number {
			continue
		}
		if at.engine != nil {
			w.counts.add("lease", "taken over")
		}
		*at = owner{engine: e, number: e.number, ownedChanges: e.ownedChanges}
	}
	o.alike(e)
}

// alike checks that no other engine works on the shards of an engine.
func (o *owners) alike(e *driver) {
	if e.group.dead || o.way != leased {
		return
	}
	for _, other := range o.w.engines {
		if other == e || other.group.dead {
			continue
		}
		for shard, mine := range e.believes {
			switch {
			case !mine || !other.believes[shard]:
			case o.mayBelieve(e) || o.mayBelieve(other):
				o.w.counts.add("lease", "two at work")
			default:
				o.w.fail("a shard has one owner", "shard %d is worked on by %s and by %s", shard, e.group.name, other.group.name)
			}
		}
	}
}

// mayBelieve reports whether an engine may continue by what it believed, which is not promised otherwise: while it stands
// still it does nothing, then it has a moment to find out, and where its clock stood still with it as long as its leases
// seem to live; and no engine can know what
// the queue has forgotten, nor tell an entry from one that it has forgotten and that had the same revision.
func (o *owners) mayBelieve(e *driver) bool {
	now, lostAt, mistaken := o.w.elapsed, o.w.leases.lostAt, o.w.leases.mistaken
	switch {
	case e.stands(), e.wokeAt > 0 && now < e.wokeAt+wakesWithin, e.thawedAt > 0 && now < e.thawedAt+leaseTTL:
		return true
	}
	return lostAt > 0 && now < lostAt+leaseTTL || mistaken > 0 && now < mistaken+leaseTTL
}

// leave lets an engine end in good order.
func (o *owners) leave(e *driver) bool {
	if o.way != leased || e.group.dead || e.holder.leaving || e.stands() {
		return false
	}
	e.holder.leave()
	return true
}

// calmDown looks, from when misfortunes end, whether all shards have an owner in time; and some engine ends once more.
func (o *owners) calmDown() {
	w := o.w
	o.calmAt = w.elapsed
	if o.way != leased {
		return
	}
	o.manned = w.elapsed + toldLate // changes that are on their way have arrived by then
	o.watch()
	w.after(10*time.Second, func() {
		o.refused = 0
		w.leases.calmDown()
	})
	e, orderly := pick(w, w.engines...), w.odds(0.5)
	w.after(w.between(16*time.Second, 20*time.Second), func() {
		switch {
		case e.group.dead:
		case orderly:
			o.leave(e)
			w.after(handedWithin+5*time.Millisecond, o.handed)
		default:
			e.kill()
		}
	})
}

// watch looks for shards without an owner, again and again while the world is calm.
func (o *owners) watch() {
	w := o.w
	owned := o.owned()
	for shard, n := range owned {
		if n == 0 && len(o.living()) > 0 {
			since := max(o.without[shard], o.manned)
			if wait := w.elapsed - since; wait > takenWithin+watched {
				w.fail("a shard has an owner again in time", "shard %d has had none for %s", shard, wait)
			}
			continue
		}
		o.without[shard] = w.elapsed
	}
	if len(o.living()) == 0 {
		o.manned = max(o.manned, w.elapsed)
	}
	if w.elapsed < o.calmAt+calm {
		w.after(watched, o.watch)
	}
}

// owned counts the engines that work on each shard.
func (o *owners) owned() (engines [engine.Shards]int) {
	for _, e := range o.living() {
		for shard, mine := range e.believes {
			if mine {
				engines[shard]++
			}
		}
	}
	return engines
}

// handed checks that others have the shards of an engine that ended in good order.
func (o *owners) handed() {
	living := o.living()
	if len(living) == 0 {
		return
	}
	for shard, n := range o.owned() {
		if n == 0 {
			o.w.fail("a shard is handed over at once", "shard %d has no owner, and there are %d engines", shard, len(living))
		}
	}
	o.w.counts.add("lease", "handed over in time")
}

// even checks, once the world has been calm for a while, that engines share the work evenly, and came to that without a
// stampede.
func (o *owners) even() {
	if o.way != leased {
		return
	}
	living := o.living()
	least, most := engine.Shards, 0
	for _, e := range living {
		n := 0
		for _, mine := range e.believes {
			if mine {
				n++
			}
		}
		least, most = min(least, n), max(most, n)
	}
	if most > least+1 || len(living) < len(o.w.engines) {
		o.w.fail("engines share the shards evenly", "of %d engines %d live, and have between %d and %d shards", len(o.w.engines), len(living), least, most)
	}
	for shard, n := range o.owned() {
		if n != 1 {
			o.w.fail("a shard has one owner", "shard %d has %d", shard, n)
		}
	}
	if o.refused > stampede {
		o.w.fail("engines do not get in each other's way", "%d acquisitions were refused while all was calm", o.refused)
	}
}
