package lease

import (
	"slices"
	"time"
)

// view is what a plan depends on.
type view struct {
	settled, all []string // members, in order
	owners       [shards]string
	leaving      bool
}

func (v *view) same(as *view) bool {
	return v.leaving == as.leaving && slices.Equal(v.all, as.all) && slices.Equal(v.settled, as.settled) && v.owners == as.owners
}

// plan returns the plan, which is the same on all engines that see the same table. An engine that has just joined gets
// free shards only, and none that another engine owns.
func (k *Keeper) plan(now time.Time) *Plan {
	v := view{leaving: k.leaving}
	for id, m := range k.members {
		if m.Leaving || id == k.self && k.leaving || k.silent(now, m.seen) && id != k.self {
			continue
		}
		v.all = append(v.all, id)
		if now.Sub(m.since) >= k.config.Settle {
			v.settled = append(v.settled, id)
		}
	}
	slices.Sort(v.all)
	slices.Sort(v.settled)
	k.owners(now, &v.owners)
	if v.same(&k.viewed) {
		return &k.made
	}
	k.viewed, k.made = v, Assign(v.all, v.owners)
	for shard, owner := range v.owners {
		if slices.Contains(v.all, owner) && !slices.Contains(v.settled, k.made[shard]) {
			k.made[shard] = owner
		}
	}
	return &k.made
}

// silent reports whether an entry that was seen then should have been renewed or removed by now. The table may have failed to end it:
// a NATS that was killed can come back with entries that never expire.
func (k *Keeper) silent(now, seen time.Time) bool { return !seen.Add(k.config.TTL).After(now) }

// owners fills in the owner of each shard; none, if the entry should have expired.
func (k *Keeper) owners(now time.Time, owners *[shards]string) {
	for shard := range k.table {
		if k.taken(shard, now) {
			owners[shard] = k.table[shard].Engine
		}
	}
}

// taken reports whether a shard has an owner. One that did not renew its entry for a TTL has stopped, by its own clock, and
// if it has renewed it after all the entry has another revision by now, and is not replaced.
func (k *Keeper) taken(shard int, now time.Time) bool {
	at := &k.table[shard]
	return at.Engine != "" && (k.held[shard] != nil || !k.silent(now, at.seen))
}

// freeSince returns since when a shard that is not taken has been free.
func (k *Keeper) freeSince(at *place) time.Time {
	if at.Engine != "" {
		return at.seen.Add(k.config.TTL)
	}
	return at.freeSince
}
