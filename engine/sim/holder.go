package sim

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/lease"
)

// holder does what shard.Holder does: it turns a lease.Keeper over the leases of the world.
type holder struct {
	w      *world
	e      *driver
	group  *group // the incarnation's
	keeper *lease.Keeper
	clock  *event

	watch     int           // how often it has got the table from the beginning
	deaf      bool          // the watch is being restarted
	drowsy    bool          // it has not gone on yet after it stood still
	inbox     []lease.Input // what has come since
	delivered time.Duration // when the latest change on its way arrives: they come in order
	latest    *news
	ownAt     time.Duration // when the engine has heard of the latest Own
	number    uint64        // of that
	leaving   bool
}

// news are changes that arrive together.
type news struct {
	made   time.Duration
	inputs []lease.Input
}

// toldLate is how late a change of the leases arrives at most.
const toldLate = 3 * time.Second

// leaveLimit is how long an engine that ends tries to hand over its shards.
const leaveLimit = 5 * time.Second

func newHolder(e *driver) *holder {
	keeper, err := lease.NewKeeper(lease.DefaultConfig(leaseTTL), e.group.name)
	if err != nil {
		panic(err)
	}
	return &holder{w: e.w, e: e, group: e.group, keeper: keeper, deaf: true}
}

// begin watches, and turns from then on.
func (h *holder) begin() {
	h.watchAnew(h.w.between(0, 5*time.Millisecond))
	h.input(lease.Tick{})
}

// now is the clock that waits are measured by: the one on the wall jumps, this does not. It stands while the whole
// machine does.
func (h *holder) now() time.Time { return h.w.start.Add(h.e.time.steady() - h.e.frozen) }

func (h *holder) input(in ...lease.Input) {
	e := h.e
	if h.group.dead || e.group != h.group {
		return
	}
	if e.stands() || h.drowsy {
		h.inbox = append(h.inbox, in...)
		return
	}
	now := h.now()
	h.perform(now, h.keeper.Step(now, in...))
	if h.keeper.Gone() {
		e.leave()
		return
	}
	h.clock.cancel()
	h.clock = h.w.after(h.e.time.lasts(max(h.keeper.Next(now).Sub(now), 0))+h.w.between(0, 200*time.Microsecond), func() { h.input(lease.Tick{}) })
}

func (h *holder) wakeUp() {
	if h.e.stands() {
		return
	}
	inbox := h.inbox
	h.drowsy, h.inbox = false, nil
	h.input(inbox...)
}

// leave begins to hand over what the engine has. What is left after a while ends by itself.
func (h *holder) leave() {
	h.w.note("engine hands over", h.group.name, "", 0)
	h.leaving = true
	h.input(lease.Leave{})
	h.w.after(leaveLimit, func() { h.e.awake(h.group, h.e.leave) })
}

// perform sends writes on their way, most together, and has the engine work on what it owns.
func (h *holder) perform(sent time.Time, actions []lease.Action) {
	w := h.w
	var together []lease.Action
	for _, action := range actions {
		what, shard := wanted(action)
		w.counts.add("lease", what)
		w.note("lease", h.group.name, what, int64(shard))
		own, ok := action.(lease.Own)
		switch {
		case ok:
			h.own(own)
		case w.chance(leaseSlow):
			h.write(sent, w.between(50*time.Millisecond, 3*time.Second), action)
		default:
			together = append(together, action)
		}
	}
	if len(together) > 0 {
		h.write(sent, w.between(100*time.Microsecond, 2*time.Millisecond), together...)
	}
}

// wanted names an action, and the shard that it is about.
func wanted(action lease.Action) (what string, shard int) {
	switch a := action.(type) {
	case lease.Acquire:
		return "Acquire", a.Shard
	case lease.Renew:
		return "Renew", a.Shard
	case lease.Release:
		return "Release", a.Shard
	case lease.Announce:
		return "Announce", -1
	case lease.Own:
		return "Own", -1
	}
	return "", -1
}

// write lets writes arrive at the bucket, also after the death of their engine, and their answers at the engine.
func (h *holder) write(sent time.Time, latency time.Duration, actions ...lease.Action) {
	w := h.w
	w.after(latency, func() {
		if h.group.dead && (!w.faults.active || w.odds(0.5)) {
			return
		}
		back := w.between(50*time.Microsecond, time.Millisecond)
		if h.e.isCut() {
			back = w.between(10*time.Millisecond, 5*time.Second) // there is no answer
		}
		answers := make([]lease.Input, 0, len(actions))
		for _, action := range actions {
			answer := lease.Answered{To: action, Sent: sent, Outcome: lease.Unknown}
			if !h.e.isCut() && !w.chance(leaseRefused) {
				answer.Revision, answer.Outcome = w.leases.apply(h.group.name, action)
				if w.chance(leaseUnsure) {
					answer.Revision, answer.Outcome = 0, lease.Unknown
				}
			}
			answers = append(answers, answer)
		}
		w.after(back, func() { h.input(answers...) })
	})
}

// own notifies the engine of what it owns, one change after the other, and the keeper once no write for others is under way.
func (h *holder) own(own lease.Own) {
	w, e := h.w, h.e
	h.ownAt = max(h.ownAt, w.elapsed) + w.between(0, 2*time.Millisecond)
	h.number = own.Number
	tokens := make([]uint64, 0, len(own.Shards))
	for _, shard := range own.Shards {
		tokens = append(tokens, h.keeper.Token(shard))
	}
	tell := func() {
		if h.number != own.Number {
			return // the next one says more
		}
		e.believes = [engine.Shards]bool{}
		for _, shard := range own.Shards {
			e.believes[shard] = true
		}
		e.own().then(func() {
			w.after(w.between(0, 500*time.Microsecond), func() { h.input(lease.Stopped{Own: own}) })
		})
		w.owners.working(e, own.Shards, tokens)
	}
	w.after(h.ownAt-w.elapsed, func() { e.awake(h.group, tell) })
}

// hear lets a change arrive, behind those before it.
func (h *holder) hear(in lease.Input) {
	w := h.w
	if h.deaf || h.group.dead || h.e.isCut() {
		return
	}
	if h.latest != nil && h.latest.made == w.elapsed {
		h.latest.inputs = append(h.latest.inputs, in)
		return
	}
	delay := w.between(100*time.Microsecond, 2*time.Millisecond)
	if w.chance(watchDelayed) {
		delay = w.between(20*time.Millisecond, toldLate)
	}
	h.delivered = max(h.delivered, w.elapsed+delay)
	latest, watch := &news{made: w.elapsed, inputs: []lease.Input{in}}, h.watch
	h.latest = latest
	w.after(h.delivered-w.elapsed, func() {
		if h.watch == watch {
			h.input(latest.inputs...)
		}
	})
}

// watchAnew ends the watch and begins it again after a while: then it passes on the whole table, and each change from then on.
func (h *holder) watchAnew(wait time.Duration) {
	h.watch++
	watch := h.watch
	h.deaf, h.latest = true, nil
	h.input(lease.Lost{})
	h.w.after(wait, func() {
		if h.watch != watch || h.group.dead || h.e.isCut() {
			return
		}
		h.deaf, h.delivered = false, h.w.elapsed+h.w.between(100*time.Microsecond, 5*time.Millisecond)
		all := h.w.leases.all()
		h.w.after(h.delivered-h.w.elapsed, func() {
			if h.watch == watch {
				h.input(all...)
			}
		})
	})
}
