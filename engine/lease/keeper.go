package lease

import (
	"slices"
	"time"
)

// Keeper keeps the shards of one engine. It belongs to one goroutine: give it Inputs, do its Actions in order, and give
// it a Tick when Next has come.
type Keeper struct {
	config Config
	self   string

	synced  bool
	lostAt  time.Time // when the table was lost last
	leaving bool
	gone    bool // the last Announce has been answered
	table   [shards]place
	members map[string]member

	viewed view // what made was made of
	made   Plan

	held      [shards]*holding
	owned     []int        // of the last Own
	works     [shards]bool // the same
	number    uint64
	stopped   uint64    // the number of the last Own that was answered
	gatherAt  time.Time // when gathered shards are begun with; zero if there are none
	announce  time.Time // when the own entry is written, or removed, again
	announced bool      // a write of it is under way
	retrying  bool      // the last one failed
}

// place is a shard as the table has it.
type place struct {
	Entry
	heard     uint64    // the latest revision seen, also from before the table was lost
	seen      time.Time // when it was first seen
	freeSince time.Time
	writing   bool      // an Acquire is under way
	retryAt   time.Time // no Acquire before this
}

type member struct {
	Member
	since time.Time
	seen  time.Time // when the engine's entry was seen last
	idle  time.Time // when this engine last took a shard that the plan gives to the other
}

// holding is a shard that this engine has.
type holding struct {
	revision uint64
	until    time.Time // work ends before this
	renewAt  time.Time
	retryAt  time.Time // no Release before this
	writing  bool      // a Renew or a Release is under way
	handing  uint64    // the number of the first Own without it; 0 if it is worked on, or will be
}

// NewKeeper makes the keeper of an engine; self is its id in the table.
func NewKeeper(config Config, self string) (*Keeper, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	return &Keeper{config: config, self: self, members: map[string]member{}}, nil
}

// Owned returns the shards that the engine works on, ascending. The caller does not change it.
func (k *Keeper) Owned() []int { return k.owned }

// Token returns the fencing token of a shard that is owned: it is higher than that of any owner before.
func (k *Keeper) Token(shard int) uint64 {
	if h := k.held[shard]; h != nil {
		return h.revision
	}
	return 0
}

// Gone reports whether the engine has left: it owns nothing and has said so.
func (k *Keeper) Gone() bool { return k.gone }

// Synced reports whether the table is known.
func (k *Keeper) Synced() bool { return k.synced }

// Owners returns the owner of each shard, as far as this engine knows; "" for none.
func (k *Keeper) Owners() [shards]string {
	var owners [shards]string
	for shard := range k.table {
		owners[shard] = k.table[shard].Engine
	}
	return owners
}

// Step takes the inputs of one instant, and returns the actions, in this order. now never goes back. Looking at
// the whole table costs the same for one input as for many: give those that came together together.
func (k *Keeper) Step(now time.Time, inputs ...Input) []Action {
	for _, input := range inputs {
		k.take(now, input)
	}
	k.giveUp(now)
	plan := k.plan(now)
	k.handOver(plan)
	out := k.own(nil, now)
	out = k.write(out, now, plan)
	return k.present(out, now)
}

func (k *Keeper) take(now time.Time, input Input) {
	switch in := input.(type) {
	case Lost:
		k.lose(now)
	case Synced:
		k.sync(now)
	case Seen:
		k.see(now, in.Entry)
	case SeenMember:
		k.seeMember(now, in.Member)
	case Answered:
		k.answered(now, &in)
	case Stopped:
		k.stopped = max(k.stopped, in.Own.Number)
	case Leave:
		if !k.leaving {
			k.leaving, k.announce = true, now
		}
	case Tick:
	}
}

// lose forgets the table, but not what this engine holds: its entries are there until they are seen not to be.
func (k *Keeper) lose(now time.Time) {
	k.synced, k.lostAt = false, now
	clear(k.members)
	for shard := range k.table {
		at := &k.table[shard]
		at.Entry, at.freeSince = Entry{Shard: shard}, time.Time{}
	}
}

func (k *Keeper) sync(now time.Time) {
	k.synced = true
	for shard := range k.table {
		if at := &k.table[shard]; at.Engine == "" && at.freeSince.IsZero() {
			at.freeSince = now
		}
	}
}

func (k *Keeper) see(now time.Time, entry Entry) {
	at := &k.table[entry.Shard]
	if entry.Revision < at.Revision {
		return // an echo of what has been replaced since
	}
	if entry.Engine == "" && (at.Engine != "" || at.freeSince.IsZero()) {
		at.freeSince = now
	}
	if entry.Revision != at.heard { // else it has not been renewed, however often it is seen
		at.heard, at.seen = entry.Revision, now
	}
	at.Entry = entry
	if h := k.held[entry.Shard]; h != nil && entry.Revision > h.revision && entry.Engine != k.self {
		k.held[entry.Shard] = nil // taken over, or removed: it ended while this engine was suspended
	}
}

// wrote takes what this engine has written into the table. What it sent before the table was lost comes again, if it is
// still there: a table that has forgotten it gives out lower revisions, which would be taken for echoes.
func (k *Keeper) wrote(now time.Time, in *Answered, entry Entry) {
	if !in.Sent.Before(k.lostAt) {
		k.see(now, entry)
	}
}

func (k *Keeper) seeMember(now time.Time, m Member) {
	if m.Gone {
		delete(k.members, m.ID)
		return
	}
	known, ok := k.members[m.ID]
	if !ok {
		known.since = now
	}
	known.Member, known.seen = m, now
	k.members[m.ID] = known
}

func (k *Keeper) answered(now time.Time, in *Answered) {
	switch to := in.To.(type) {
	case Announce:
		k.announced, k.retrying = false, in.Outcome != Done
		switch {
		case k.retrying:
			k.announce = now.Add(k.config.Retry)
		case to.Gone:
			k.gone = true
		default:
			k.announce = in.Sent.Add(k.config.RenewEvery)
		}
	case Acquire:
		k.acquired(now, in, to.Shard)
	case Renew:
		k.renewed(now, in, to.Shard, to.Revision)
	case Release:
		k.released(now, in, to.Shard, to.Revision)
	case Own: // answered by Stopped
	}
}

func (k *Keeper) acquired(now time.Time, in *Answered, shard int) {
	at := &k.table[shard]
	at.writing = false
	if in.Outcome != Done {
		at.retryAt = now.Add(k.config.Retry) // if it was done after all, the entry is seen to be this engine's
		return
	}
	k.wrote(now, in, Entry{Shard: shard, Engine: k.self, Revision: in.Revision})
	if at.Revision > in.Revision {
		return // it has been seen to have passed on already
	}
	k.held[shard] = k.holding(in)
	if k.gatherAt.IsZero() {
		k.gatherAt = now.Add(k.config.Gather)
	}
}

func (k *Keeper) holding(in *Answered) *holding {
	return &holding{
		revision: in.Revision, until: in.Sent.Add(k.config.TTL - k.config.Margin), renewAt: in.Sent.Add(k.config.RenewEvery),
	}
}

func (k *Keeper) renewed(now time.Time, in *Answered, shard int, revision uint64) {
	h := k.held[shard]
	if h == nil || h.revision != revision {
		if in.Outcome == Done { // renewed too late to continue with it: it is given up
			k.wrote(now, in, Entry{Shard: shard, Engine: k.self, Revision: in.Revision})
		}
		return
	}
	h.writing = false
	switch in.Outcome {
	case Done:
		handing := h.handing
		k.wrote(now, in, Entry{Shard: shard, Engine: k.self, Revision: in.Revision})
		if h = k.held[shard]; h != nil {
			*h = *k.holding(in)
			h.handing = handing
		}
	case Refused:
		k.held[shard] = nil
	case Unknown:
		h.renewAt = now.Add(k.config.Retry)
	}
}

func (k *Keeper) released(now time.Time, in *Answered, shard int, revision uint64) {
	h := k.held[shard]
	if h != nil && h.revision == revision {
		if in.Outcome == Unknown {
			h.writing, h.retryAt = false, now.Add(k.config.Retry)
			return
		}
		k.held[shard] = nil
	}
	k.table[shard].writing = false
	if in.Outcome == Done {
		k.wrote(now, in, Entry{Shard: shard, Revision: in.Revision})
	}
}

// giveUp lets go of what could not be renewed in time.
func (k *Keeper) giveUp(now time.Time) {
	for shard, h := range k.held {
		if h != nil && !now.Before(h.until) {
			k.held[shard] = nil
		}
	}
}

// handOver stops work on shards that the plan gives to others, unless they have just left a free one to this engine: until
// they are heard of again they may be dead, and shards would go to and fro.
func (k *Keeper) handOver(plan *Plan) {
	if !k.synced {
		return
	}
	for shard, h := range k.held {
		if h == nil || h.handing != 0 || plan[shard] == k.self {
			continue
		}
		if to, alive := k.members[plan[shard]]; k.leaving || alive && to.seen.After(to.idle) {
			h.handing = k.number + 1
		}
	}
}

// own returns the shards to work on, when they change: at once when one has gone, after a while when more have come.
func (k *Keeper) own(out []Action, now time.Time) []Action {
	var works [shards]bool
	fresh := false
	due := !k.gatherAt.IsZero() && !now.Before(k.gatherAt)
	for shard, h := range k.held {
		if h == nil || h.handing != 0 {
			continue
		}
		fresh = fresh || !k.works[shard]
		works[shard] = k.works[shard] || due
	}
	if due || !fresh {
		k.gatherAt = time.Time{}
	}
	if works == k.works {
		return out
	}
	k.works, k.owned = works, make([]int, 0, shards)
	for shard, mine := range works {
		if mine {
			k.owned = append(k.owned, shard)
		}
	}
	k.number++
	return append(out, Own{Number: k.number, Shards: k.owned})
}

// write renews and releases what is held, and acquires.
func (k *Keeper) write(out []Action, now time.Time, plan *Plan) []Action {
	for shard, h := range k.held {
		switch {
		case h == nil || h.writing:
		case k.handed(h):
			if !now.Before(h.retryAt) {
				h.writing = true
				out = append(out, Release{Shard: shard, Revision: h.revision})
			}
		case !now.Before(h.renewAt):
			h.writing = true
			out = append(out, Renew{Shard: shard, Revision: h.revision})
		}
	}
	_, seen := k.members[k.self]
	for shard := range k.table {
		at := &k.table[shard]
		mine := at.Engine == k.self // written without an answer, or not renewed in time
		if !k.synced || at.writing || k.held[shard] != nil || !mine && k.taken(shard, now) || now.Before(at.retryAt) {
			continue
		}
		wanted := !k.leaving && (plan[shard] == k.self || !mine && now.Sub(k.freeSince(at)) >= k.patience(shard))
		switch {
		case wanted && seen: // before others have seen this engine they make another plan
			at.writing = true
			out = append(out, Acquire{Shard: shard, Revision: at.Revision})
			if to, ok := k.members[plan[shard]]; ok && plan[shard] != k.self {
				to.idle = now
				k.members[plan[shard]] = to
			}
		case mine && !wanted:
			at.writing, at.retryAt = true, now.Add(k.config.Retry)
			out = append(out, Release{Shard: shard, Revision: at.Revision})
		}
	}
	return out
}

// handed reports whether the engine has stopped work on a shard that goes to another.
func (k *Keeper) handed(h *holding) bool {
	return h.handing != 0 && k.stopped >= min(h.handing, k.number)
}

// patience is how long this engine leaves a free shard to the one that the plan gives it to.
func (k *Keeper) patience(shard int) time.Duration {
	ids := make([]string, 0, len(k.members))
	for id, m := range k.members {
		if !m.Leaving {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	rank := (slices.Index(ids, k.self) + shard) % max(len(ids), 1)
	return k.config.Patience + time.Duration(rank)*k.config.Stagger
}

// present keeps the engine's own entry alive, and removes it last.
func (k *Keeper) present(out []Action, now time.Time) []Action {
	if k.announced || k.gone {
		return out
	}
	end := k.leaving && k.empty()
	if now.Before(k.announce) && (!end || k.retrying) {
		return out
	}
	k.announced = true
	return append(out, Announce{Leaving: k.leaving, Gone: end})
}

// empty reports whether nothing is owned, nor may be by a write that is under way.
func (k *Keeper) empty() bool {
	for shard, h := range k.held {
		if h != nil || k.table[shard].writing {
			return false
		}
	}
	return len(k.owned) == 0 && k.stopped == k.number
}

// Next is when the keeper wants a Tick at the latest.
func (k *Keeper) Next(now time.Time) time.Time {
	next := now.Add(k.config.RenewEvery)
	sooner := func(at time.Time) {
		if at.Before(next) {
			next = at
		}
	}
	if !k.announced && !k.gone {
		sooner(k.announce)
	}
	if !k.gatherAt.IsZero() {
		sooner(k.gatherAt)
	}
	for shard, h := range k.held {
		if h == nil {
			switch at := &k.table[shard]; {
			case at.writing:
			case at.Engine == k.self || !k.taken(shard, now):
				sooner(now.Add(k.config.Stagger)) // an engine should take it soon
			default:
				sooner(at.seen.Add(k.config.TTL))
			}
			continue
		}
		sooner(h.until)
		if !h.writing {
			sooner(h.renewAt)
			if k.handed(h) {
				sooner(h.retryAt)
			}
		}
	}
	for _, m := range k.members {
		if settled := m.since.Add(k.config.Settle); settled.After(now) {
			sooner(settled)
		}
	}
	if floor := now.Add(time.Millisecond); next.Before(floor) {
		return floor
	}
	return next
}
