package sim

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// way is how engines come to own shards.
type way uint8

const (
	alone  way = iota + 1 // one engine owns all, and asks no other
	leased                // by leases, with package engine/lease: leases.go and holder.go
	thrown                // at random: the owner before may act long after, as leases do not let it (owners_thrown.go)
)

// owners knows who works on which shard, and holds engines that have leases to what those promise.
type owners struct {
	w       *world
	way     way
	of      [engine.Shards]owner  // who began to work on it last
	tokens  [engine.Shards]uint64 // the highest that it was worked on under
	refused int                   // acquisitions

	calmAt  time.Duration                // when misfortunes ended, 0 before
	manned  time.Duration                // since when there is an engine
	without [engine.Shards]time.Duration // when a shard was last seen to have no owner
}

type owner struct {
	engine       *driver
	number       int // of its incarnation
	ownedChanges int // which change of what it owns gave it the shard
}

// ownership is who took a shard last, as the store knows it.
type ownership struct {
	term  uint64
	group *group
}

func newOwners(w *world) *owners {
	o := &owners{w: w, way: alone}
	switch {
	case len(w.engines) > 1:
		o.way = pick(w, leased, thrown)
	case w.odds(0.1):
		o.way = leased
	}
	w.counts.add("owners", [...]string{alone: "one alone", leased: "by leases", thrown: "at random"}[o.way])
	return o
}

// several reports whether shards move at all.
func (o *owners) several() bool { return o.way != alone }

// begin spreads the shards, where no leases do.
func (o *owners) begin() {
	if o.way == thrown {
		o.throw()
	}
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

// has reports whether an engine is the owner of a shard, the one who began to work on it last.
func (o *owners) has(e *driver, shard int) bool {
	return !o.several() || o.of[shard].engine == e && o.of[shard].number == e.number
}
