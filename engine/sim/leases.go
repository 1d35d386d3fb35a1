package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/lease"
)

const (
	// leaseTTL is how long others wait for an engine that says nothing. It is production's.
	leaseTTL = 5 * time.Second
	// markerLife is how long the marker stays that an entry leaves which has ended.
	markerLife = time.Second
	// releasedLife is how long that of a lease stays which was released.
	releasedLife = time.Hour
)

// leases is the bucket LEASES: entries that end by themselves, on the server's clock, and a watch that passes on each
// change. Engines' holders write to it, and it promises what queue/queuetest wants of a queue.
type leases struct {
	w        *world
	revision uint64
	shards   [engine.Shards]row
	engines  []*row
	lostAt   time.Duration // when it lost what it had acknowledged, 0 if it never did
	twice    [2]uint64     // after the first and up to the second revisions have been given out twice: what was lost had them
	mistaken time.Duration // when an entry was taken over last as one that was lost, of the same revision; 0 if none was
}

// row is a key of the bucket.
type row struct {
	member   string // the key is that engine's; "" for a shard's
	shard    int
	engine   string // who owns the shard, or lives; "" for a marker, and where there is nothing
	leaving  bool
	revision uint64 // 0 where there is nothing
	replaced uint64 // by the renewal that wrote it
	ends     *event
	endless  bool // it does not end by itself until the misfortunes end
}

func newLeases(w *world) *leases {
	l := &leases{w: w}
	for shard := range l.shards {
		l.shards[shard].shard = shard
	}
	return l
}

func (r *row) input() lease.Input {
	if r.member != "" {
		return lease.SeenMember{Member: lease.Member{ID: r.member, Leaving: r.leaving, Gone: r.engine == ""}}
	}
	return lease.Seen{Entry: lease.Entry{Shard: r.shard, Engine: r.engine, Revision: r.revision}}
}

// put writes a key and notifies all watchers.
func (l *leases) put(r *row, by string, life time.Duration) uint64 {
	l.revision++
	r.engine, r.revision, r.replaced = by, l.revision, 0
	l.endAfter(r, life)
	in := r.input()
	for _, e := range l.w.engines {
		if e.holder != nil {
			e.holder.hear(in)
		}
	}
	return r.revision
}

// endAfter lets a key end by itself: an entry leaves a marker, and a marker nothing.
func (l *leases) endAfter(r *row, life time.Duration) {
	r.ends.cancel()
	r.ends, r.endless = nil, false
	if l.w.chance(entryEndless) {
		r.endless = true
		return
	}
	if r.engine != "" && l.w.chance(entryEndsLate) {
		life += l.w.between(100*time.Millisecond, 3*time.Second)
	}
	r.ends = l.w.after(life, func() {
		switch {
		case r.engine != "":
			l.w.counts.add("lease", "entry ended")
			l.w.note("lease ended", r.engine+r.member, "", int64(r.shard))
			l.put(r, "", markerLife)
		case r.member != "":
			l.engines = slices.DeleteFunc(l.engines, func(other *row) bool { return other == r })
		default:
			r.revision = 0
		}
	})
}

// apply does what a holder wants done.
func (l *leases) apply(id string, action lease.Action) (uint64, lease.Outcome) {
	refused := func(what string, shard int) {
		l.w.counts.add("lease", what+" refused")
		l.w.note(what+" refused", id, l.shards[shard].engine, int64(shard))
	}
	switch a := action.(type) {
	case lease.Acquire:
		r := &l.shards[a.Shard]
		if r.engine == "" || r.revision == a.Revision {
			if r.engine != "" && l.twice[0] < a.Revision && a.Revision <= l.twice[1] {
				l.mistaken = l.w.elapsed
			}
			return l.put(r, id, leaseTTL), lease.Done
		}
		refused("acquisition", a.Shard)
		l.w.owners.refused++
	case lease.Renew:
		r := &l.shards[a.Shard]
		switch {
		case r.revision == a.Revision:
			revision := l.put(r, id, leaseTTL)
			r.replaced = a.Revision
			return revision, lease.Done
		case r.engine == id && r.replaced == a.Revision: // stored, and its answer lost
			l.w.counts.add("lease", "renewal found again") // its life began then, so it is renewed
			revision := l.put(r, id, leaseTTL)
			r.replaced = a.Revision
			return revision, lease.Done
		}
		refused("renewal", a.Shard)
	case lease.Release:
		if r := &l.shards[a.Shard]; r.revision == a.Revision {
			l.w.counts.add("lease", "released")
			return l.put(r, "", releasedLife), lease.Done
		}
		refused("release", a.Shard)
	case lease.Announce:
		r := l.member(id)
		r.leaving = a.Leaving
		if a.Gone {
			l.put(r, "", markerLife)
		} else {
			l.put(r, id, leaseTTL)
		}
		return 0, lease.Done
	case lease.Own: // not a write
	}
	return 0, lease.Refused
}

func (l *leases) member(id string) *row {
	for _, r := range l.engines {
		if r.member == id {
			return r
		}
	}
	r := &row{member: id}
	l.engines = append(l.engines, r)
	return r
}

// all returns what the bucket holds, as a watch passes it on at its beginning: the oldest first.
func (l *leases) all() []lease.Input {
	var rows []*row
	for shard := range l.shards {
		if l.shards[shard].revision > 0 {
			rows = append(rows, &l.shards[shard])
		}
	}
	rows = append(rows, l.engines...)
	slices.SortFunc(rows, func(a, b *row) int { return cmp.Compare(a.revision, b.revision) })
	inputs := make([]lease.Input, 0, len(rows)+1)
	for _, r := range rows {
		inputs = append(inputs, r.input())
	}
	return append(inputs, lease.Synced{})
}

// calmDown ends what should have ended long ago.
func (l *leases) calmDown() {
	for shard := range l.shards {
		if r := &l.shards[shard]; r.endless {
			l.endAfter(r, 0)
		}
	}
	for _, r := range l.engines {
		if r.endless {
			l.endAfter(r, 0)
		}
	}
}

// lose takes back the latest writes, or all, as a power cut does: what was acknowledged is gone, revisions are given out
// again, and every watcher restarts.
func (l *leases) lose() {
	w := l.w
	left := uint64(0)
	if w.odds(0.7) {
		left = l.revision - min(l.revision, uint64(w.random.IntN(200)))
	}
	w.note("leases lost", "", "", int64(l.revision-left))
	lost := func(r *row) bool { return r.revision > left }
	for shard := range l.shards {
		if r := &l.shards[shard]; lost(r) {
			r.ends.cancel()
			*r = row{shard: shard}
		}
	}
	for _, r := range l.engines {
		if lost(r) {
			r.ends.cancel()
		}
	}
	l.engines = slices.DeleteFunc(l.engines, lost)
	l.twice = [2]uint64{left, max(l.revision, l.twice[1])}
	l.revision, l.lostAt = left, w.elapsed
	w.owners.tokens = [engine.Shards]uint64{}
	for _, e := range w.engines {
		if e.holder != nil {
			e.holder.watchAnew(w.between(time.Millisecond, 2*time.Second))
		}
	}
}
