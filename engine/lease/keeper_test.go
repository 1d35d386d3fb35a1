package lease_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/engine/lease"
)

const ttl = 3 * time.Second

// cluster is some engines and the table that they share, in one goroutine on a clock of its own.
type cluster struct {
	t       *testing.T
	random  *rand.Rand
	now     time.Time
	last    uint64 // the latest revision
	entries map[string]*row
	engines []*node
	events  []event
	faults  bool
	endless bool                  // the table ends nothing by itself
	tokens  [engine.Shards]uint64 // the highest that has been worked under
}

// row is an entry of the table, or the marker that it left.
type row struct {
	value    string // "" for a marker
	leaving  bool
	revision uint64
	until    time.Time
}

type node struct {
	id        string
	keeper    *lease.Keeper
	alive     bool
	paused    time.Time // it is suspended until then
	cut       time.Time // it does not reach the table until then
	watch     int       // how often it got the table from its beginning
	delivered time.Time // when the last change that is on its way arrives: they come in order
	next      time.Time // when it wants a Tick
	stops     time.Time // when it does what the last Own says
	works     []int     // what its engine works on
	wrote     []uint64  // the token under which, beside works
	inbox     []lease.Input
	taken     int // Acquires that were refused
}

type event struct {
	at time.Time
	do func()
}

func newCluster(t *testing.T, seed uint64) *cluster {
	return &cluster{
		t: t, random: rand.New(rand.NewPCG(seed, 7)), now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), entries: map[string]*row{},
	}
}

func (c *cluster) start(id string) *node {
	keeper, err := lease.NewKeeper(lease.DefaultConfig(ttl), id)
	if err != nil {
		c.t.Fatal(err)
	}
	n := &node{id: id, keeper: keeper, alive: true}
	c.engines = append(c.engines, n)
	c.tell(n)
	return n
}

// tell sends an engine the whole table.
func (c *cluster) tell(n *node) {
	keys := make([]string, 0, len(c.entries))
	for key := range c.entries {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		c.send(n, c.change(key))
	}
	c.send(n, lease.Synced{})
}

func (c *cluster) change(key string) lease.Input {
	r := c.entries[key]
	var shard int
	if _, err := fmt.Sscanf(key, "shard.%d", &shard); err == nil {
		return lease.Seen{Entry: lease.Entry{Shard: shard, Engine: r.value, Revision: r.revision}}
	}
	return lease.SeenMember{Member: lease.Member{ID: key, Leaving: r.leaving, Gone: r.value == ""}}
}

// later does something after a delay of the network.
func (c *cluster) later(do func()) { c.at(c.now.Add(c.delay()), do) }

func (c *cluster) delay() time.Duration {
	delay := time.Duration(c.random.IntN(3000)) * time.Microsecond
	if c.faults && c.random.IntN(50) == 0 {
		delay += time.Duration(c.random.IntN(1000)) * time.Millisecond
	}
	return delay
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (c *cluster) at(at time.Time, do func()) {
	i, _ := slices.BinarySearchFunc(c.events, at, func(e event, at time.Time) int {
		return cmp.Or(e.at.Compare(at), -1) // behind those of the same time
	})
	c.events = slices.Insert(c.events, i, event{at, do})
}

// send delivers to an engine in the order of sending.
func (c *cluster) send(n *node, in lease.Input) { n.inbox = append(n.inbox, in) }

func (c *cluster) set(key string, value string, leaving bool, life time.Duration) uint64 {
	c.last++
	c.entries[key] = &row{value, leaving, c.last, c.now.Add(life)}
	in := c.change(key)
	for _, n := range c.engines {
		if watch := n.watch; !c.isCut(n) {
			n.delivered = later(n.delivered, c.now.Add(c.delay()))
			c.at(n.delivered, func() {
				if n.alive && n.watch == watch {
					c.send(n, in)
				}
			})
		}
	}
	return c.last
}

// write does a write of the table, and answers unless the answer is lost.
func (c *cluster) write(n *node, action lease.Action) {
	sent := c.now
	c.later(func() {
		if c.isCut(n) || c.faults && c.random.IntN(40) == 0 {
			c.answer(n, lease.Answered{To: action, Sent: sent, Outcome: lease.Unknown})
			return
		}
		revision, outcome := c.apply(n, action)
		if c.faults && c.random.IntN(40) == 0 {
			outcome = lease.Unknown
		}
		c.answer(n, lease.Answered{To: action, Sent: sent, Revision: revision, Outcome: outcome})
	})
}

func (c *cluster) isCut(n *node) bool { return c.now.Before(n.cut) }

// cutOff takes the table away from an engine for a while; then the engine gets all of it again.
func (c *cluster) cutOff(n *node, d time.Duration) {
	if c.isCut(n) {
		return
	}
	n.cut = c.now.Add(d)
	n.watch++
	c.at(n.cut, func() {
		if n.alive {
			c.send(n, lease.Lost{})
			c.tell(n)
		}
	})
}

func (c *cluster) answer(n *node, in lease.Answered) {
	c.later(func() {
		if n.alive {
			c.send(n, in)
		}
	})
}

func (c *cluster) apply(n *node, action lease.Action) (uint64, lease.Outcome) {
	present := func(shard int) (string, uint64, string) {
		key := fmt.Sprintf("shard.%d", shard)
		if r := c.entries[key]; r != nil {
			return key, r.revision, r.value
		}
		return key, 0, ""
	}
	switch a := action.(type) {
	case lease.Acquire:
		key, revision, owner := present(a.Shard)
		if owner != "" && revision != a.Revision {
			n.taken++
			return 0, lease.Refused
		}
		return c.set(key, n.id, false, ttl), lease.Done
	case lease.Renew:
		key, revision, _ := present(a.Shard)
		if revision != a.Revision {
			return 0, lease.Refused
		}
		return c.set(key, n.id, false, ttl), lease.Done
	case lease.Release:
		key, revision, _ := present(a.Shard)
		if revision != a.Revision {
			return 0, lease.Refused
		}
		return c.set(key, "", false, time.Second), lease.Done
	case lease.Announce:
		if a.Gone {
			return c.set(n.id, "", false, time.Second), lease.Done
		}
		return c.set(n.id, n.id, a.Leaving, ttl), lease.Done
	}
	c.t.Fatalf("what is %T?", action)
	return 0, 0
}

// expire ends entries as the table does, leaving a marker, and markers without a trace.
func (c *cluster) expire() {
	if c.endless {
		return
	}
	keys := make([]string, 0, len(c.entries))
	for key, r := range c.entries {
		if !c.now.Before(r.until) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		if c.entries[key].value == "" {
			delete(c.entries, key)
			continue
		}
		c.set(key, "", false, time.Second)
	}
}

// run lets time pass, and holds at every step that no shard is worked on by two.
func (c *cluster) run(d time.Duration) {
	for end := c.now.Add(d); c.now.Before(end); c.now = c.now.Add(time.Millisecond) {
		c.expire()
		for len(c.events) > 0 && !c.events[0].at.After(c.now) {
			do := c.events[0].do
			c.events = c.events[1:]
			do()
		}
		for _, n := range c.engines {
			if n.alive && !c.now.Before(n.paused) {
				c.turn(n)
			}
		}
		c.check()
	}
}

func (c *cluster) turn(n *node) {
	if len(n.inbox) == 0 && c.now.Before(n.next) {
		return
	}
	c.perform(n, n.keeper.Step(c.now, lease.Tick{})) // its timer rings before it reads on
	inbox := n.inbox
	n.inbox = nil
	for _, in := range inbox {
		c.perform(n, n.keeper.Step(c.now, in))
	}
	n.next = n.keeper.Next(c.now)
	if n.keeper.Gone() {
		n.alive = false
	}
}

func (c *cluster) perform(n *node, actions []lease.Action) {
	for _, action := range actions {
		own, ok := action.(lease.Own)
		if !ok {
			c.write(n, action)
			continue
		}
		var tokens []uint64
		for _, shard := range own.Shards {
			tokens = append(tokens, n.keeper.Token(shard))
		}
		// What it was at work on takes it a moment to stop.
		n.stops = later(n.stops, c.now.Add(time.Duration(c.random.IntN(20))*time.Millisecond))
		c.at(n.stops, func() {
			n.works, n.wrote = own.Shards, tokens
			c.send(n, lease.Stopped{Own: own})
		})
	}
}

func (c *cluster) check() {
	var owner [engine.Shards]*node
	for _, n := range c.engines {
		// One that is suspended does nothing, and one that has just woken up is at its last writes, which the store refuses.
		if !n.alive || c.now.Before(n.paused.Add(25*time.Millisecond)) {
			continue
		}
		for i, shard := range n.works {
			if other := owner[shard]; other != nil {
				c.t.Fatalf("%v: %s and %s both work on shard %d", c.now, other.id, n.id, shard)
			}
			owner[shard] = n
			if n.wrote[i] < c.tokens[shard] {
				c.t.Fatalf("%v: %s works on shard %d under token %d, after %d", c.now, n.id, shard, n.wrote[i], c.tokens[shard])
			}
			c.tokens[shard] = n.wrote[i]
		}
	}
}

// spread returns how many shards each live engine works on, and how many have no engine.
func (c *cluster) spread() (counts map[string]int, none int) {
	counts, none = map[string]int{}, engine.Shards
	for _, n := range c.engines {
		if n.alive {
			counts[n.id] = len(n.works)
			none -= len(n.works)
		}
	}
	return counts, none
}

func (c *cluster) even(what string) {
	c.t.Helper()
	counts, none := c.spread()
	low, high := engine.Shards, 0
	for _, n := range counts {
		low, high = min(low, n), max(high, n)
	}
	if none > 0 || high-low > 1 {
		c.t.Fatalf("%s: %v, and %d shards have no owner", what, counts, none)
	}
}

func TestOneEngineTakesAllAtOnce(t *testing.T) {
	c := newCluster(t, 1)
	n := c.start("a")
	c.run(100 * time.Millisecond)
	if len(n.works) != engine.Shards {
		t.Fatalf("after 100 ms it works on %d shards", len(n.works))
	}
}

func TestEnginesThatComeTogetherShare(t *testing.T) {
	c := newCluster(t, 2)
	for _, id := range []string{"a", "b", "c"} {
		c.start(id)
	}
	c.run(2 * time.Second)
	c.even("three that began together")
}

func TestAnEngineThatComesGetsItsPart(t *testing.T) {
	c := newCluster(t, 3)
	a := c.start("a")
	c.run(2 * time.Second)
	c.start("b")
	c.run(900 * time.Millisecond)
	if len(a.works) != engine.Shards {
		t.Error("shards move to an engine that has not settled")
	}
	c.run(300 * time.Millisecond)
	c.even("a second engine")
}

// After a crash all is owned again within the TTL and a second.
func TestACrashIsTakenOver(t *testing.T) {
	c := newCluster(t, 4)
	for _, id := range []string{"a", "b", "c"} {
		c.start(id)
	}
	c.run(3 * time.Second)
	c.engines[1].alive = false
	c.run(ttl + time.Second)
	c.even("after a crash")
}

// A table that has forgotten to end entries does not keep the shards of an engine that crashed from the others, nor give
// it any.
func TestACrashIsTakenOverThoughItsEntriesNeverEnd(t *testing.T) {
	c := newCluster(t, 10)
	for _, id := range []string{"a", "b", "c"} {
		c.start(id)
	}
	c.run(3 * time.Second)
	c.endless = true
	c.engines[1].alive = false
	c.run(ttl + time.Second)
	c.even("after a crash")
	for range 20 {
		c.run(ttl / 4)
		c.even("later")
	}
}

// After a graceful end all is owned again within 100 ms.
func TestAGracefulEndIsTakenOverAtOnce(t *testing.T) {
	c := newCluster(t, 5)
	for _, id := range []string{"a", "b", "c"} {
		c.start(id)
	}
	c.run(3 * time.Second)
	leaving := c.engines[0]
	c.send(leaving, lease.Leave{})
	c.run(100 * time.Millisecond)
	c.even("after a graceful end")
	if leaving.alive {
		t.Error("the engine has not left")
	}
}

// Of many engines that see shards become free, few ask for one that another gets.
func TestFreeShardsCauseNoStampede(t *testing.T) {
	c := newCluster(t, 6)
	for i := range 16 {
		c.start(fmt.Sprintf("e%02d", i))
	}
	c.run(3 * time.Second)
	for _, n := range c.engines {
		n.taken = 0
	}
	c.engines[3].alive, c.engines[4].alive = false, false
	c.run(ttl + time.Second)
	c.even("after two crashes")
	taken := 0
	for _, n := range c.engines {
		taken += n.taken
	}
	if taken > 16 {
		t.Errorf("%d acquisitions were refused for 8 free shards", taken)
	}
}

// An engine that is suspended for longer than its leases live finds them gone, and others at work.
func TestAnEngineThatStoodStillOwnsNothing(t *testing.T) {
	c := newCluster(t, 8)
	a := c.start("a")
	c.start("b")
	c.run(3 * time.Second)
	a.paused = c.now.Add(2 * ttl)
	c.run(2 * ttl)
	if n := len(c.engines[1].works); n != engine.Shards {
		t.Fatalf("the other one works on %d shards", n)
	}
	c.run(2 * time.Second)
	c.even("after it woke up")
}

// An engine that does not reach the table stops before another begins, and all is owned within the TTL and a second.
func TestAnEngineThatIsCutOffStopsInTime(t *testing.T) {
	c := newCluster(t, 9)
	a := c.start("a")
	c.start("b")
	c.run(3 * time.Second)
	c.cutOff(a, 3*ttl)
	c.run(ttl + time.Second)
	if n, others := len(a.works), len(c.engines[1].works); n != 0 || others != engine.Shards {
		t.Fatalf("it works on %d shards, the other one on %d", n, others)
	}
	c.run(2*ttl + 2*time.Second)
	c.even("after it came back")
}

// Engines crash, stand still, are cut off, leave and come, and writes fail or are done without a word: never do two work on one
// shard, and once all that ends the spread is even.
func TestNoTwoOwnersWhateverHappens(t *testing.T) {
	for seed := range uint64(25) {
		c := newCluster(t, 100+seed)
		c.faults = true
		names := 0
		for range 40 {
			alive := slices.DeleteFunc(slices.Clone(c.engines), func(n *node) bool { return !n.alive })
			switch i := c.random.IntN(10); {
			case len(alive) == 0 || i < 3 && len(alive) < 6:
				names++
				c.start(fmt.Sprintf("e%d", names))
			case i == 3:
				alive[c.random.IntN(len(alive))].alive = false
			case i == 4:
				c.send(alive[c.random.IntN(len(alive))], lease.Leave{})
			case i == 5:
				alive[c.random.IntN(len(alive))].paused = c.now.Add(time.Duration(c.random.IntN(8000)) * time.Millisecond)
			case i == 6:
				c.cutOff(alive[c.random.IntN(len(alive))], time.Duration(c.random.IntN(8000))*time.Millisecond)
			}
			c.run(time.Duration(c.random.IntN(1500)) * time.Millisecond)
		}
		c.faults = false
		c.start("last")
		c.run(8*time.Second + 2*ttl)
		c.even(fmt.Sprintf("seed %d", seed))
	}
}
