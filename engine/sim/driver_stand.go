package sim

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// stands reports whether the engine stands still, as a process that is stopped, or a machine that swaps.
func (e *driver) stands() bool { return e.w.elapsed < e.until }

// stand lets it stand still; what it has sent continues. Its clock stands still too where the machine does.
func (e *driver) stand(frozen bool) bool {
	if e.group.dead || e.stands() {
		return false
	}
	e.stoodSince = e.w.elapsed
	e.until = e.w.elapsed + e.w.between(500*time.Millisecond, 15*time.Second)
	e.freezes = frozen
	e.w.note("engine stands", e.group.name, "", e.until.Milliseconds())
	e.w.after(e.until-e.w.elapsed, e.wakeUp)
	return true
}

// wakeUp lets an engine that stood still continue with what has come meanwhile. Its holder need not be the first to continue.
func (e *driver) wakeUp() {
	if e.stands() || e.stoodSince == 0 {
		return
	}
	if e.freezes {
		e.frozen += e.w.elapsed - e.stoodSince
		e.thawedAt = e.w.elapsed
	}
	e.wokeAt, e.stoodSince = e.w.elapsed, 0
	if h := e.holder; h != nil {
		h.drowsy = true
		e.w.after(e.w.between(0, 20*time.Millisecond), h.wakeUp)
		e.w.after(wakesWithin, func() { e.w.owners.alike(e) })
		e.w.after(leaseTTL, func() { e.w.owners.alike(e) })
	}
	inbox := e.inbox
	e.inbox = nil
	for _, do := range inbox {
		do()
	}
}

// awake does something of an incarnation, once it does not stand still.
func (e *driver) awake(group *group, do func()) {
	switch {
	case group.dead || e.group != group:
	case e.stands():
		e.inbox = append(e.inbox, func() { e.awake(group, do) })
	default:
		do()
	}
}

// isCut reports whether the engine does not reach the queue.
func (e *driver) isCut() bool { return e.w.elapsed < e.cutUntil }

// cutOff takes the queue from the engine, with all that is in it.
func (e *driver) cutOff(d time.Duration) bool {
	if e.cutUntil >= e.w.elapsed+d {
		return false
	}
	e.cutUntil = e.w.elapsed + d
	e.w.note("engine cut off", e.group.name, "", e.cutUntil.Milliseconds())
	e.w.after(e.cutUntil-e.w.elapsed, e.reconnect)
	return true
}

func (e *driver) reconnect() {
	if e.isCut() || e.cutUntil == 0 {
		return
	}
	e.cutUntil, e.since = 0, e.w.elapsed
	if e.group.dead {
		return
	}
	for _, number := range e.shards {
		e.pump(number)
	}
	if e.holder != nil {
		e.holder.watchAnew(e.w.between(0, 300*time.Millisecond))
	}
}

// leave ends the engine in an orderly way, once it has handed over what it had or given that up.
func (e *driver) leave() {
	e.w.note("engine leaves", e.group.name, "", 0)
	e.w.kill(e.group)
	e.clock.cancel()
	e.seats, e.ended = [engine.Shards]shard.Seat{}, e.w.elapsed
	e.w.after(pick(e.w, 10*time.Millisecond, 300*time.Millisecond, 2*time.Second), e.boot)
}

// flights are commits that are under way.
type flights struct {
	under   int
	waiting []func()
}

// then does something once none of them is under way.
func (f *flights) then(do func()) {
	if f.under == 0 {
		do()
		return
	}
	f.waiting = append(f.waiting, do)
}

func (f *flights) land() {
	if f.under--; f.under == 0 {
		for _, do := range f.waiting {
			do()
		}
		f.waiting = nil
	}
}
