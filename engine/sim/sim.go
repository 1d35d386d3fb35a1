package sim

import (
	"cmp"
	"io"
	"math/rand/v2"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/shard"
)

// Options of a run.
type Options struct {
	// Trace gets every line of the world's history; nil keeps only the latest for a report.
	Trace io.Writer
	// Without leaves choices out of the world: see Choices.
	Without []int
	// Trouble bounds the time in which there are faults, and users do something; 0 is what the seed says.
	Trouble time.Duration
	// Stack gives the caller's stack, for the report of a panic; may be nil.
	Stack func() []byte
}

// Report is what happened to one world.
type Report struct {
	Seed    uint64
	Failure *Failure      // nil if all invariants held
	Trace   []string      // the latest lines
	Counts  []Count       // what was reached, in a fixed order
	Steps   int           // entries of the agenda
	Elapsed time.Duration // of virtual time, until it failed or came to rest
}

func compareCounts(a, b Count) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.What, b.What))
}

// How a world goes: it is troubled for a while, then calm, then its schedules are paused and it comes to rest: for as long
// as a run or a wave still ends now and then. Hundreds of runs that are caught up one after the other take hours where
// programs hang until their timeout.
const (
	calm = 50 * time.Second
	rest = 90 * time.Minute
)

// Run makes the world of a seed, lets it turn and says what was found.
func Run(seed uint64, options Options) Report {
	w := &world{seed: seed, random: rand.New(rand.NewPCG(seed, 0x7469646577686565))}
	w.history.whole, w.stack = options.Trace, options.Stack
	w.without = map[string]bool{}
	for _, choice := range options.Without {
		w.without[Choices()[choice]] = true
	}
	w.start = pick(w, changes...).Add(w.between(0, 50*time.Second)).Truncate(time.Microsecond)
	w.truth, w.queue, w.notifier = newTruth(w), newQueue(w), newNotifier(w)
	w.journal = &journal{w: w, started: map[string]uint64{}, tokens: map[string]uint64{}, living: map[string][]*program{}, left: map[string]*outputs{}}
	w.users = newUsers(w)
	if w.seed%7 < 2 {
		w.bound = 2 + int(w.seed%11)
	}
	w.config, w.leases = w.drawConfig(), newLeases(w)
	for i := range pick(w, 1, 1, 1, 2, 2, 3) {
		w.engines = append(w.engines, &driver{w: w, name: "engine-" + string(rune('a'+i)), time: clock{w: w}})
	}
	w.owners = newOwners(w)
	for i := range 1 + w.random.IntN(3) {
		x := &executor{w: w, name: "executor-" + string(rune('a'+i)), slots: 1 + w.random.IntN(4), time: clock{w: w}, appetite: w.drawAppetite(i == 0)}
		w.executors = append(w.executors, x)
	}
	w.drawFaults()
	for _, x := range w.executors {
		x.boot()
	}
	for _, e := range w.engines {
		e.boot()
	}
	w.owners.begin()
	w.users.begin()
	w.notifier.begin()

	trouble := w.between(20*time.Second, 80*time.Second)
	if options.Trouble > 0 {
		trouble = min(trouble, options.Trouble)
	}
	w.run(trouble)
	w.calmDown()
	w.run(w.elapsed + calm)
	if w.failure == nil {
		w.owners.even()
	}
	if w.failure == nil {
		w.planned()
	}
	if w.failure == nil {
		w.cancellationsEnded()
	}
	w.users.stopAll()
	for w.truth.endedAt = w.elapsed; w.failure == nil && w.elapsed < w.truth.endedAt+rest; {
		w.run(w.elapsed + 5*time.Second)
		staying, rested := w.rested()
		if rested && len(staying) == 0 {
			break
		}
		if rested {
			w.users.endWaves(staying)
		}
	}
	if w.failure == nil {
		w.leftovers()
	}
	if w.failure == nil {
		w.notifier.leftovers()
	}
	if w.failure == nil {
		w.account()
	}
	for _, g := range w.groups {
		g.dead = true
		g.bury()
	}
	for _, c := range w.idle {
		c.halt()
	}
	return Report{Seed: seed, Failure: w.failure, Trace: w.trace(), Counts: w.counts.list(), Steps: w.steps, Elapsed: w.elapsed}
}

// drawConfig draws an engine's times: production's, or others that reach rare paths sooner.
func (w *world) drawConfig() shard.Config {
	config := shard.DefaultConfig()
	config.Core.LockTTL = lockTTL
	if w.odds(0.5) {
		config.Horizon = pick(w, 2*time.Second, 5*time.Second, 20*time.Second)
		config.PollEvery = config.Horizon / 3
		config.Core.MaxCatchUp, config.Core.MaxWaiting, config.Core.MaxLosses = 5, 4, 1
		config.LoadChunk = 2
	}
	if w.odds(0.3) {
		config.Core.Grace = pick(w, 500*time.Millisecond, 3*time.Second)
	}
	config.Core.Incidents = w.notifier.on
	config.Core.CommitRuns = []int{engine.CommitRuns, 1, 3}[w.seed%3]
	if w.seed%5 < 2 {
		config.Window = 1 + int(w.seed%5)*2
	}
	return config
}

// calmDown ends the faults. What is dead comes back by itself; stalled processes continue.
func (w *world) calmDown() {
	w.note("calm", "", "", 0)
	w.faults.ended, w.faults.active = w.elapsed, false
	w.truth.awayUntil, w.programsAway = 0, 0
	w.users.quiet = true
	for _, x := range w.executors {
		x.stalledUntil, x.cutUntil, x.awayUntil = min(x.stalledUntil, w.elapsed), 0, 0
	}
	for _, e := range w.engines {
		e.until, e.cutUntil = min(e.until, w.elapsed), min(e.cutUntil, w.elapsed)
		e.wakeUp()
		e.reconnect()
	}
	w.owners.calmDown()
	w.queue.dispatch()
}

// stopAll pauses every job, so that the world can come to rest.
func (u *users) stopAll() {
	for _, m := range u.jobs {
		if !m.job.Deleted && !m.job.Paused {
			u.setPaused(m, true)
		}
	}
	for _, m := range u.dags {
		if m.dag.UID != "" && !m.dag.Deleted && !m.dag.Paused {
			u.setDAGPaused(m, true)
		}
	}
}
