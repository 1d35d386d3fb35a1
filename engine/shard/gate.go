package shard

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// The queue gives tasks out in the order in which they came. The gate keeps a namespace from filling it: of each lane it
// lets only a window of tasks wait there, and holds the attempts beyond that, oldest first. So a task of another namespace
// waits behind the windows of the others, however many runs these have.
//
// A held run is queued, for the store and for users. Nothing is lost with the gate: the next owner of a shard publishes what
// the store says is queued and the queue does not have.

const (
	// leastWindow is the window of a lane from which executors take next to nothing.
	leastWindow = 16
	// resizeEvery is how often windows are resized. A lane that holds attempts may fill the queue with as many tasks as left it
	// in that time: executors do not wait for the engine then, and what fills the queue is the work of a moment.
	resizeEvery = time.Second
)

// gate belongs to one machine: all shards of the engine share its windows.
type gate struct {
	most     int // the largest window: Config.Window
	lanes    map[laneKey]*lane
	holding  []*lane             // those that hold attempts, in the order in which they began to
	attempts map[string]*passage // by run
	resizeAt time.Time
	bounds   map[string]int // see Bounded
	inside   map[string]int // tasks that wait in the queue, by namespace
}

// laneKey names tasks of one namespace that executors take in the order in which they came.
type laneKey struct {
	namespace string
	tier      spec.Tier
	class     spec.Class
	labels    string
}

type lane struct {
	key    laneKey
	window int
	inside int // tasks that wait in the queue
	left   int // tasks that left it since the window was set
	held   []*passage
}

// passage is the way of an attempt through the gate: it is held, or inside.
type passage struct {
	unit    *unit
	lane    *lane
	run     string
	attempt int
	again   bool // see engine.Task
	inside  bool // its task is in the queue, and no executor has claimed it as far as the engine knows
	gone    bool // it ended while it was held, and is passed over when its turn comes
}

func newGate(window int, now time.Time) gate {
	return gate{most: window, lanes: map[laneKey]*lane{}, attempts: map[string]*passage{}, resizeAt: now.Add(resizeEvery), inside: map[string]int{}}
}

// begin makes the passage of an attempt, in place of that of an earlier one of its run.
func (g *gate) begin(u *unit, task *engine.Task) *passage {
	if earlier := g.attempts[task.Run]; earlier != nil {
		g.end(earlier)
	}
	key := laneKey{namespace: task.Namespace, tier: task.Tier, class: task.Class, labels: labelsOf(task.RunsOn)}
	l := g.lanes[key]
	if l == nil {
		l = &lane{key: key, window: g.most}
		g.lanes[key] = l
	}
	p := &passage{unit: u, lane: l, run: task.Run, attempt: task.Attempt, again: task.Again}
	g.attempts[p.run] = p
	return p
}

func labelsOf(runsOn map[string]string) string {
	if len(runsOn) == 0 {
		return ""
	}
	var labels strings.Builder
	for _, name := range slices.Sorted(maps.Keys(runsOn)) {
		labels.WriteString(name + "=" + runsOn[name] + "\n")
	}
	return labels.String()
}

// of returns the passage of an attempt, nil if it has none.
func (g *gate) of(u *unit, run string, attempt int) *passage {
	if p := g.attempts[run]; p != nil && p.unit == u && p.attempt == attempt {
		return p
	}
	return nil
}

func (g *gate) let(p *passage) {
	p.inside = true
	p.lane.inside++
	g.inside[p.lane.key.namespace]++
}

func (g *gate) hold(p *passage) {
	if len(p.lane.held) == 0 {
		g.holding = append(g.holding, p.lane)
	}
	p.lane.held = append(p.lane.held, p)
}

// end forgets an attempt: its task has left the queue, or is not to get there any more.
func (g *gate) end(p *passage) {
	delete(g.attempts, p.run)
	p.gone = true
	if p.inside {
		p.lane.inside--
		p.lane.left++
		if g.inside[p.lane.key.namespace]--; g.inside[p.lane.key.namespace] == 0 {
			delete(g.inside, p.lane.key.namespace)
		}
	}
	g.forgetIfEmpty(p.lane)
}

func (g *gate) forgetIfEmpty(l *lane) {
	if l.inside == 0 && len(l.held) == 0 {
		delete(g.lanes, l.key)
	}
}

// next takes the attempt that a lane may let into the queue now, nil if there is none.
func (g *gate) next(l *lane) *passage {
	for len(l.held) > 0 && (l.inside < l.window || l.held[0].gone) {
		p := l.held[0]
		l.held[0] = nil
		if l.held = l.held[1:]; len(l.held) == 0 {
			l.window, l.left, l.held = g.most, 0, nil
			g.holding = slices.DeleteFunc(g.holding, func(other *lane) bool { return other == l })
		}
		if !p.gone {
			return p
		}
	}
	g.forgetIfEmpty(l)
	return nil
}

// bounded reports whether the namespace of a lane has a bound.
func (g *gate) bounded(l *lane) bool { return g.bounds[l.key.namespace] > 0 }

// last lets the other lanes that hold attempts go before this one.
func (g *gate) last(l *lane) {
	if at := slices.Index(g.holding, l); at >= 0 {
		g.holding = append(slices.Delete(g.holding, at, at+1), l)
	}
}

// resize computes the windows from the current lanes.
func (g *gate) resize(now time.Time) {
	g.resizeAt = now.Add(resizeEvery)
	for _, l := range g.holding {
		l.window = min(max(l.left, leastWindow), g.most)
		l.left = 0
	}
}

// count returns how many attempts are held of each tier and class, in the order in which lanes began to hold some.
func (g *gate) count() []engine.HeldRuns {
	var held []engine.HeldRuns
	for _, l := range g.holding {
		i := slices.IndexFunc(held, func(h engine.HeldRuns) bool { return h.Tier == l.key.tier && h.Class == l.key.class })
		if i < 0 {
			i, held = len(held), append(held, engine.HeldRuns{Tier: l.key.tier, Class: l.key.class})
		}
		held[i].Runs += len(l.held)
	}
	return held
}
