package sim

import (
	"slices"
	"time"
)

// fault is one kind of misfortune.
type fault string

// The faults. Those of the first group happen to single calls and messages, those of the second to parts as a whole.
const (
	taskLost       fault = "task lost after its publication was acknowledged"
	taskDoubled    fault = "task delivered twice at once"
	taskDelayed    fault = "task delayed"
	taskAckLost    fault = "acknowledgement of a task lost"
	taskAckLate    fault = "acknowledgement of a task late"
	taskNakLost    fault = "return of a task lost"
	publishRefused fault = "publish refused"
	publishUnsure  fault = "publish done, but reported failed"
	resultsAgain   fault = "results delivered again"
	resultsDelayed fault = "results of a shard delayed"
	floorLost      fault = "acknowledgement of results lost in a crash"
	resultsAckLost fault = "acknowledgement of results lost"
	resultLate     fault = "message on an attempt's subject late"
	queueRefused   fault = "question to the queue refused"
	queueUnsure    fault = "message on an attempt's subject stored, but reported failed"
	wakeLost       fault = "wake lost"
	controlLost    fault = "cancellation lost on its way to the executor"
	storeRefused   fault = "store call refused"
	storeUnsure    fault = "store write done, but reported failed"
	storeSlow      fault = "store call slow"
	storeTorn      fault = "store write half done"
	commitLate     fault = "commit of a killed engine lands"
	commitGone     fault = "commit of a killed engine is lost"
	engineCut      fault = "engine killed between two effects"
	commitCut      fault = "engine killed while a commit is under way"
	commitTorn     fault = "engine killed in the middle of a commit"
	executorCut    fault = "executor killed between two steps"
	programAway    fault = "program not fetched"
	programSlow    fault = "program fetched slowly"
	lockUnsure     fault = "lock made, but reported failed"
	lockDelayed    fault = "lock delayed on its way"
	unlockLost     fault = "release of a lock lost"
	refreshUnsure  fault = "refresh of a lock done, but reported failed"
	refreshDelayed fault = "refresh of a lock delayed on its way"
	leaseRefused   fault = "write of the leases refused"
	leaseUnsure    fault = "write of the leases done, but reported failed"
	leaseSlow      fault = "write of the leases slow"
	watchDelayed   fault = "change of the leases delivered late"
	entryEndsLate  fault = "entry of the leases ends late"
	entryEndless   fault = "entry of the leases never ends by itself"

	storeAway       fault = "store away"
	programsAway    fault = "store of programs away"
	queueAway       fault = "queue away"
	engineKilled    fault = "engine killed"
	engineStands    fault = "engine stands still"
	engineFrozen    fault = "engine stands still, and its clock with it"
	engineCutOff    fault = "engine cut off from the queue"
	engineLeaves    fault = "engine ends in good order"
	leasesLost      fault = "leases lost after they were acknowledged"
	shardsMoved     fault = "shards handed over"
	shardsTaken     fault = "shards taken over while their owner still acts"
	executorKilled  fault = "executor killed"
	executorStalled fault = "executor stalled"
	executorDrained fault = "executor drained"
	refreshCut      fault = "executor cannot refresh its lock"
	clockOff        fault = "clock of a node off"
	clockDrifts     fault = "clock of a node too fast or too slow"
	clockForward    fault = "wall clock jumps forward"
	clockBack       fault = "wall clock jumps back"

	notifyRefused fault = "notification refused"
	notifyUnsure  fault = "notification taken, but reported failed"
	notifySlow    fault = "notification slow"
)

// rates are the probabilities by call or message, at full strength.
var rates = []struct {
	fault fault
	rate  float64
}{
	{taskLost, 0.03}, {taskDoubled, 0.05}, {taskDelayed, 0.1}, {taskAckLost, 0.05}, {publishRefused, 0.05},
	{publishUnsure, 0.05}, {resultsAgain, 0.03}, {resultsDelayed, 0.1}, {floorLost, 0.5}, {queueRefused, 0.05},
	{queueUnsure, 0.05}, {wakeLost, 0.3}, {controlLost, 0.3}, {storeRefused, 0.03}, {storeUnsure, 0.03},
	{storeSlow, 0.03}, {storeTorn, 0.03}, {commitLate, 0.5}, {commitGone, 0.5}, {engineCut, 0.003}, {commitCut, 0.006}, {commitTorn, 0.004}, {executorCut, 0.004},
	{programAway, 0.02}, {programSlow, 0.03}, {refreshDelayed, 0.03},
	{taskAckLate, 0.05}, {taskNakLost, 0.1}, {resultsAckLost, 0.05}, {resultLate, 0.02}, {lockUnsure, 0.04}, {lockDelayed, 0.02}, {unlockLost, 0.02}, {refreshUnsure, 0.04},
	{leaseRefused, 0.03}, {leaseUnsure, 0.03}, {leaseSlow, 0.02}, {watchDelayed, 0.03}, {entryEndsLate, 0.3}, {entryEndless, 0.03},
}

// periods are the mean times between two misfortunes of a whole part.
var periods = []struct {
	fault  fault
	period time.Duration
}{
	{storeAway, 60 * time.Second}, {programsAway, 60 * time.Second}, {queueAway, 70 * time.Second}, {engineKilled, 20 * time.Second}, {engineStands, 25 * time.Second},
	{engineFrozen, 60 * time.Second}, {engineCutOff, 30 * time.Second}, {engineLeaves, 30 * time.Second}, {leasesLost, 90 * time.Second},
	{shardsMoved, 12 * time.Second}, {shardsTaken, 6 * time.Second}, {executorKilled, 15 * time.Second},
	{executorStalled, 20 * time.Second}, {executorDrained, 25 * time.Second}, {refreshCut, 30 * time.Second},
	{clockForward, 40 * time.Second}, {clockBack, 40 * time.Second},
}

// Faults lists every kind of misfortune.
func Faults() []string {
	var all []string
	for _, r := range rates {
		all = append(all, string(r.fault))
	}
	for _, p := range periods {
		all = append(all, string(p.fault))
	}
	return append(all, string(clockOff), string(clockDrifts), string(notifyRefused), string(notifyUnsure), string(notifySlow))
}

// faults defines how often each fault happens.
type faults struct {
	rate   map[fault]float64 // only looked up
	active bool
	ended  time.Duration // when they did
	none   bool          // this world has no misfortunes
}

// drawFaults chooses what goes wrong in this world: in some nothing, in most some, in some everything.
func (w *world) drawFaults() {
	w.faults = faults{rate: map[fault]float64{}, active: true}
	share := pick(w, 0, 0.15, 0.4, 0.4, 0.7, 1)
	w.faults.none = share == 0
	for _, r := range rates {
		if w.odds(share) || r.fault == floorLost || r.fault == commitLate || r.fault == commitGone {
			w.faults.rate[r.fault] = r.rate * pick(w, 0.3, 1, 2)
		}
	}
	for _, p := range periods {
		if w.odds(share) {
			w.misfortune(p.fault, p.period)
		}
	}
	w.drawClocks(share)
}

// chance draws whether a fault happens here.
func (w *world) chance(f fault) bool {
	rate := w.faults.rate[f]
	if !w.faults.active || rate == 0 || !w.odds(rate) || w.leaves(string(f)) {
		return false
	}
	w.counts.add("fault", string(f))
	return true
}

// misfortune lets a fault of a whole part happen again and again.
func (w *world) misfortune(f fault, period time.Duration) {
	w.after(w.between(period/10, 2*period), func() {
		if !w.faults.active {
			return
		}
		if !w.leaves(string(f)) && w.strike(f) {
			w.counts.add("fault", string(f))
		}
		w.misfortune(f, period)
	})
}

func (w *world) strike(f fault) bool {
	switch f {
	case storeAway:
		w.truth.awayUntil = w.elapsed + pick(w, time.Second, 5*time.Second, 30*time.Second)
		w.note("store away", "", "", w.truth.awayUntil.Milliseconds())
	case programsAway:
		w.programsAway = w.elapsed + pick(w, time.Second, 15*time.Second, 40*time.Second)
	case engineKilled:
		return pick(w, w.engines...).kill()
	case engineStands, engineFrozen:
		return pick(w, w.engines...).stand(f == engineFrozen)
	case engineCutOff:
		return pick(w, w.engines...).cutOff(w.between(100*time.Millisecond, 15*time.Second))
	case queueAway:
		w.queue.goAway(pick(w, time.Second, 5*time.Second, 15*time.Second, 40*time.Second))
	case engineLeaves:
		return w.owners.leave(pick(w, w.engines...))
	case leasesLost:
		if w.owners.way != leased {
			return false
		}
		w.leases.lose()
	case shardsMoved, shardsTaken:
		return w.owners.move(f)
	case clockForward, clockBack:
		jump := pick(w, 50*time.Millisecond, time.Second, 7*time.Second, 40*time.Second, 5*time.Minute)
		if f == clockBack {
			jump = -jump
		}
		w.offset += jump
		w.note("clock jumps", "", jump.String(), 0)
	default:
		x := w.executors[w.random.IntN(len(w.executors))]
		return x.strike(f)
	}
	return true
}

// counts is how often each event was reached.
type counts struct{ of map[string]map[string]int }

func (c *counts) add(kind, what string) {
	if c.of == nil {
		c.of = map[string]map[string]int{}
	}
	inner := c.of[kind]
	if inner == nil {
		inner = map[string]int{}
		c.of[kind] = inner
	}
	inner[what]++
}

// Count is how often something was reached.
type Count struct {
	Kind, What string
	Times      int
}

func (c *counts) list() []Count {
	var all []Count
	for kind, inner := range c.of {
		for what, times := range inner {
			all = append(all, Count{Kind: kind, What: what, Times: times})
		}
	}
	slices.SortFunc(all, compareCounts)
	return all
}
