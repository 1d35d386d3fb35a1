package sim

import (
	"iter"
	"time"
)

// group is what dies together: an engine, or an executor, with all that it has under way.
type group struct {
	name      string
	dead      bool
	processes []*process
}

func (w *world) newGroup(name string) *group {
	g := &group{name: name}
	w.groups = append(w.groups, g)
	return g
}

// process runs until it sleeps, and continues when the agenda says so.
type process struct {
	world     *world
	group     *group
	body      func(*process)
	coroutine *coroutine
	wakeup    *event
	ended     bool
}

// coroutine runs processes, one after the other: a new one would have to grow its stack for each.
type coroutine struct {
	resume func() (struct{}, bool)
	halt   func()
	yield  func(struct{}) bool
	runs   *process // nil between two
}

// spawn starts a coroutine of a group after a while.
func (w *world) spawn(g *group, wait time.Duration, body func(*process)) *process {
	p := &process{world: w, group: g, body: body}
	g.processes = append(g.processes, p)
	p.wakeup = w.after(wait, p.run)
	return p
}

func (p *process) run() {
	p.wakeup = nil
	if p.ended || p.group.dead {
		return
	}
	if p.coroutine == nil {
		p.coroutine = p.world.coroutine()
		p.coroutine.runs = p
	}
	p.coroutine.resume()
	if p.coroutine.runs == nil {
		p.ended = true
		p.group.forget()
		p.world.idle = append(p.world.idle, p.coroutine)
	}
}

// coroutine returns one that runs nothing.
func (w *world) coroutine() *coroutine {
	if n := len(w.idle); n > 0 {
		idle := w.idle[n-1]
		w.idle = w.idle[:n-1]
		return idle
	}
	c := &coroutine{}
	c.resume, c.halt = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		for more := true; more; more = yield(struct{}{}) {
			w.execute(c.runs)
			c.runs = nil
		}
	})
	return c
}

func (w *world) execute(p *process) {
	defer w.caught() // here, where the stack is still that of who panicked
	p.body(p)
}

// sleep lets time pass; false when the group has died meanwhile: then return at once, and change nothing.
func (p *process) sleep(wait time.Duration) bool {
	if p.group.dead {
		return false
	}
	p.wakeup = p.world.after(wait, p.run)
	return p.coroutine.yield(struct{}{}) && !p.group.dead
}

// wake ends a sleep early.
func (p *process) wake() {
	if p.ended || p.group.dead || p.wakeup == nil {
		return
	}
	p.wakeup.cancel()
	p.wakeup = p.world.after(0, p.run)
}

// forget drops what has ended, now and then.
func (g *group) forget() {
	if len(g.processes) < 64 {
		return
	}
	living := g.processes[:0]
	for _, p := range g.processes {
		if !p.ended {
			living = append(living, p)
		}
	}
	clear(g.processes[len(living):])
	g.processes = living
}

// caught makes a failure of a panic.
func (w *world) caught() {
	if what := recover(); what != nil {
		var stack []byte
		if w.stack != nil {
			stack = w.stack()
		}
		w.fail("nothing panics", "%v\n%s", what, stack)
	}
}

// kill ends a group at this instant. It may be called from one of the group's own processes, which must then return.
func (w *world) kill(g *group) {
	if g.dead {
		return
	}
	g.dead = true
	w.after(0, g.bury)
}

// bury unwinds the processes of a dead group.
func (g *group) bury() {
	for _, p := range g.processes {
		p.wakeup.cancel()
		if p.coroutine != nil && !p.ended {
			p.coroutine.halt()
		}
		p.ended = true
	}
	g.processes = nil
}
