package sim

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// driver does what shard.Runner does: it turns a Machine. It is one engine of the world.
type driver struct {
	w       *world
	name    string
	time    clock
	number  int // of the incarnation
	group   *group
	machine *shard.Machine
	clock   *event
	holder  *holder // of its leases, nil where there are none

	published map[string]shard.Seat     // attempts, by key
	seats     [engine.Shards]shard.Seat // for which results are listened for, zero while they are not
	cursors   [engine.Shards]uint64
	busy      [engine.Shards]bool

	shards       []int // that it owns, as far as it knows
	believes     [engine.Shards]bool
	loseAt       time.Duration // when it hears of what it has lost, 0 if it has not
	dirty        bool          // it has not received what it believes
	until        time.Duration // it stands still until then
	stoodSince   time.Duration
	wokeAt       time.Duration
	freezes      bool          // its clock stands still with it
	thawedAt     time.Duration // when it last continued after a standstill of its clock
	frozen       time.Duration // for how long that has, in all
	inbox        []func()      // what has come since
	cutUntil     time.Duration // until then it does not reach the queue
	since        time.Duration // when it began to reach it last
	sentAt       time.Duration // when the latest task that it published arrives there
	ended        time.Duration // when its last incarnation ended
	rules        []givenRules  // that it was given, the latest last
	ownedChanges int           // how often it was notified of what it owns
	flights      *flights      // commits begun since
	taken        *takenUp
}

var allShards = func() []int {
	list := make([]int, engine.Shards)
	for i := range list {
		list[i] = i
	}
	return list
}()

// boot starts an engine; whatever was before is forgotten.
func (e *driver) boot() {
	e.number++
	e.group = e.w.newGroup(fmt.Sprintf("%s.%d", e.name, e.number))
	config := e.w.config
	config.Owner = e.group.name
	if e.w.owners.several() {
		config.CheckEvery = 10 * time.Second
	}
	e.machine = shard.NewMachine(config, e.time.wall(), e.w.random)
	e.until, e.loseAt, e.wokeAt, e.thawedAt, e.freezes, e.inbox = 0, 0, 0, 0, false, nil
	e.seats, e.taken = [engine.Shards]shard.Seat{}, newTakenUp(e.group)
	e.since = e.w.elapsed
	e.believes, e.flights, e.shards = [engine.Shards]bool{}, &flights{}, nil
	e.published = map[string]shard.Seat{}
	e.w.note("engine starts", e.group.name, "", 0)
	if e.w.bound > 0 {
		e.input(shard.Bounded{Running: map[string]int{namespace: e.w.bound}})
	}
	switch e.w.owners.way {
	case alone:
		e.shards = allShards
		e.input(shard.Owned{Shards: e.shards})
	case thrown:
		e.own()
	case leased:
		e.holder = newHolder(e)
		e.holder.begin()
	}
}

// own notifies the machine of what the engine believes to own, and returns the commits that were begun before.
func (e *driver) own() (before *flights) {
	e.shards = nil
	for shard, mine := range e.believes {
		if mine {
			e.shards = append(e.shards, shard)
		}
	}
	before, e.flights = e.flights, &flights{}
	e.ownedChanges++
	e.w.note("owns", e.group.name, "", int64(len(e.shards)))
	e.input(shard.Owned{Shards: e.shards})
	return before
}

// kill ends the engine at this instant and starts another one later; false if there is none.
func (e *driver) kill() bool {
	if e.group.dead {
		return false
	}
	e.w.note("engine killed", e.group.name, "", 0)
	e.w.kill(e.group)
	e.clock.cancel()
	e.seats, e.ended = [engine.Shards]shard.Seat{}, e.w.elapsed
	for number := range e.w.queue.floors {
		if floor := e.w.queue.floors[number]; floor > 0 && e.w.chance(floorLost) {
			e.w.queue.floors[number] = floor - min(floor, uint64(e.w.random.IntN(5)))
		}
	}
	e.w.after(pick(e.w, 10*time.Millisecond, 300*time.Millisecond, 2*time.Second, 15*time.Second), e.boot)
	return true
}

func (e *driver) input(in shard.Input) {
	if e.group.dead {
		return
	}
	if group := e.group; e.stands() {
		e.inbox = append(e.inbox, func() {
			if e.group == group {
				e.input(in)
			}
		})
		return
	}
	if answer, ok := in.(shard.Answered); ok {
		e.w.counts.add("event", name(answer.Event))
	}
	e.takeUp(in)
	e.w.counts.add("input", name(in))
	for _, action := range e.machine.Step(e.time.read(), in) {
		if e.w.chance(engineCut) {
			e.kill()
			return
		}
		e.w.counts.add("action", name(action))
		e.perform(action)
		if e.group.dead {
			return
		}
	}
	e.arm()
}

// name is a type's name without its package.
func name(of any) string {
	_, short, _ := strings.Cut(fmt.Sprintf("%T", of), ".")
	return short
}

// arm sets the machine's clock. It waits on the clock that does not jump, as a timer does.
func (e *driver) arm() {
	e.clock.cancel()
	next := e.machine.Next()
	if next.IsZero() || e.group.dead {
		return
	}
	late := e.w.between(0, 200*time.Microsecond)
	e.clock = e.w.after(e.time.lasts(max(next.Sub(e.time.wall()), 0))+late, func() { e.input(shard.Clock{}) })
}

// do lets a process of the engine do something and tell the machine.
func (e *driver) do(work func(p *process, loader shard.Loader) shard.Input) {
	group := e.group
	e.w.spawn(group, e.w.between(0, 300*time.Microsecond), func(p *process) {
		in := work(p, shard.Loader{Store: reader{e.w.truth, p}})
		if group.dead || in == nil {
			return
		}
		if e.w.chance(engineCut) {
			e.kill()
			return
		}
		e.input(in)
	})
}

func (e *driver) perform(action shard.Action) {
	background := context.Background()
	switch a := action.(type) {
	case shard.Recover:
		e.do(func(p *process, loader shard.Loader) shard.Input {
			answer := shard.Recovered{Seats: a.Seats, Failed: true}
			shards := shardsOf(a.Seats)
			var err error
			if answer.Terms, err = e.w.truth.take(p, shards, e.group.name); err != nil {
				return answer
			}
			answer.Active, err = loader.Recover(background, shards)
			answer.Failed = err != nil
			if err == nil && e.w.notifier.on {
				answer.Incidents, err = loader.Incidents(background, shards)
				answer.Alerts, answer.Failed = e.w.notifier.rulesFor(e), err != nil
			}
			return answer
		})
	case shard.Listen:
		e.listen(a.Seat)
	case shard.Leave:
		e.seats[a.Shard] = shard.Seat{}
		if a.Why != "" {
			e.w.counts.add("fenced", "a shard")
			e.w.note("fenced", e.group.name, a.Why, int64(a.Shard))
			if e.w.faults.none {
				e.w.fail("without faults no engine is fenced", "%s lost shard %d", e.group.name, a.Shard)
			}
		}
	case shard.Poll:
		e.do(func(_ *process, loader shard.Loader) shard.Input {
			uids, err := loader.Due(background, shardsOf(a.Seats), a.After, a.Until)
			return shard.Polled{Seats: a.Seats, UIDs: uids, Failed: err != nil}
		})
	case shard.Load:
		e.do(func(p *process, loader shard.Loader) shard.Input {
			if a.Again > 0 && !p.sleep(min(e.w.config.RetryMin<<min(a.Again, 10), e.w.config.RetryMax)) {
				return nil
			}
			jobs, err := loader.Jobs(background, a.UIDs)
			return shard.Loaded{Seats: a.Seats, UIDs: a.UIDs, Again: a.Again, Jobs: jobs, Failed: err != nil}
		})
	case shard.Sweep:
		e.do(func(_ *process, loader shard.Loader) shard.Input {
			swept, err := loader.Sweep(background, a.Shards)
			swept.Failed = err != nil
			return swept
		})
	case shard.LoadCommands:
		e.do(func(_ *process, loader shard.Loader) shard.Input {
			received, err := loader.Commands(background, a.Commands)
			return shard.CommandsLoaded{Seat: a.Seat, Commands: a.Commands, Received: received, Failed: err != nil}
		})
	case shard.ReadBinaries:
		e.do(func(_ *process, loader shard.Loader) shard.Input {
			changed, err := loader.Binaries(background, a.Keys)
			if err != nil {
				return nil
			}
			return shard.BinariesRead{Changed: changed}
		})
	case shard.ReadAlerts:
		e.do(func(*process, shard.Loader) shard.Input { return shard.AlertsRead{Rules: e.w.notifier.rulesFor(e)} })
	case shard.Commit:
		e.commit(a)
	case shard.Acknowledge:
		receipt := a.Receipt.(receipt)
		if !e.isCut() && !e.w.chance(resultsAckLost) {
			e.w.queue.acknowledgeResults(receipt.shard, receipt.sequence)
		}
	case shard.Perform:
		e.w.counts.add("effect", name(a.Effect))
		e.effect(a.Seat, a.Effect)
	}
}

func shardsOf(seats []shard.Seat) []int {
	shards := make([]int, len(seats))
	for i, seat := range seats {
		shards[i] = seat.Shard
	}
	return shards
}

// commit sends commits on their way. The way there does not end with the engine: they may land after its death, and even
// after its successor has begun; each by itself.
func (e *driver) commit(a shard.Commit) {
	w, group, taken := e.w, e.group, e.taken
	for i := range a.Commits {
		taken.decides(&a.Commits[i], w.elapsed)
	}
	latency := w.between(100*time.Microsecond, 10*time.Millisecond)
	if w.chance(storeSlow) {
		latency = w.between(50*time.Millisecond, 3*time.Second)
	}
	if w.chance(commitCut) {
		e.kill()
		latency += w.between(0, 3*time.Second)
	}
	flights := e.flights
	flights.under++
	w.after(latency, func() {
		defer flights.land()
		if group.dead {
			if w.chance(commitGone) || !w.chance(commitLate) {
				return
			}
			w.note("late commit", group.name, "", 0)
		}
		cut := !group.dead && w.chance(commitTorn)
		torn := cut || w.chance(storeTorn)
		away := w.truth.away() || w.chance(storeRefused)
		answer := shard.Committed{Seats: a.Seats, Errors: make([]error, len(a.Commits))}
		for i := range a.Commits {
			switch {
			case away || torn && w.odds(0.5):
				answer.Errors[i] = errInjected
			default:
				answer.Errors[i] = w.truth.commit(&a.Commits[i], e, taken)
				if torn || w.chance(storeUnsure) {
					answer.Errors[i] = errInjected
				}
			}
		}
		if cut {
			e.kill()
			return
		}
		w.after(w.between(50*time.Microsecond, 2*time.Millisecond), func() {
			switch {
			case group.dead:
			case w.chance(engineCut):
				e.kill()
			default:
				e.input(answer)
			}
		})
	})
}

func (e *driver) wake(wake engine.Wake) {
	if !e.isCut() {
		e.input(shard.Woken{Wake: wake})
	}
}
