package sim

import (
	"fmt"
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// executor is a model of one: it takes tasks and follows the protocol of the design's section 4 step by step. Its
// slots are coroutines; a stall stops all of them, but not its processes, which a watchdog ends in time.
type executor struct {
	w            *world
	name         string
	incarnation  int
	slots        int
	group        *group
	running      []*attempt
	busy         int
	stalledUntil time.Duration
	sleepsUntil  time.Duration // what stalled with it continues by then
	draining     bool
	cutUntil     time.Duration // until then it cannot refresh locks
	awayUntil    time.Duration // until then it does not reach the queue
	time         clock
	appetite     appetite
}

func (x *executor) boot() {
	x.incarnation++
	x.group = x.w.newGroup(fmt.Sprintf("%s.%d", x.name, x.incarnation))
	x.running, x.busy, x.stalledUntil, x.sleepsUntil, x.draining, x.cutUntil = nil, 0, 0, 0, false, 0
	x.w.note("executor starts", x.group.name, "", 0)
	x.w.queue.dispatch()
}

// away reports whether it does not reach the queue.
func (x *executor) away() bool { return x.w.elapsed < x.awayUntil }

// strike is a misfortune of this executor; false if it cannot happen now.
func (x *executor) strike(f fault) bool {
	if x.group.dead || x.draining {
		return false
	}
	switch f {
	case executorKilled:
		x.kill()
	case executorStalled:
		if x.w.elapsed < x.stalledUntil {
			return false
		}
		x.stalledUntil = x.w.elapsed + x.w.between(2*time.Second, 25*time.Second)
		x.sleepsUntil = x.stalledUntil
		x.w.note("executor stalls", x.group.name, "", int64(x.stalledUntil))
		x.w.after(x.stalledUntil-x.w.elapsed, x.w.queue.dispatch)
	case executorDrained:
		x.drain()
	case refreshCut:
		x.cutUntil = x.w.elapsed + x.w.between(5*time.Second, 25*time.Second)
		x.w.note("refresh cut", x.group.name, "", int64(x.cutUntil))
	default:
		return false
	}
	return true
}

// kill ends the executor and its processes: whatever it ran dies with it.
func (x *executor) kill() {
	x.w.note("executor killed", x.group.name, "", 0)
	for _, a := range x.running {
		if a.program != nil {
			a.program.end("executor killed")
		}
	}
	x.w.kill(x.group)
	x.w.after(x.w.between(10*time.Millisecond, 8*time.Second), x.boot)
}

// drain ends the executor in an orderly way: what it has is handed back.
func (x *executor) drain() {
	x.w.note("executor drains", x.group.name, "", 0)
	x.draining = true
	for _, a := range x.running {
		a.drained = true
		if a.process != nil {
			a.process.wake()
		}
	}
	x.leaveIfDrained()
}

func (x *executor) leaveIfDrained() {
	if x.draining && x.busy == 0 && !x.group.dead {
		x.w.kill(x.group)
		x.w.after(x.w.between(10*time.Millisecond, 3*time.Second), x.boot)
	}
}

// idleExecutor draws an executor that can take a task and wants to, nil if there is none.
func (w *world) idleExecutor(wants func(*executor) bool) *executor {
	var idle []*executor
	for _, x := range w.executors {
		if x.group != nil && !x.group.dead && !x.draining && !x.away() && x.busy < x.slots && w.elapsed >= x.stalledUntil && wants(x) {
			idle = append(idle, x)
		}
	}
	if len(idle) == 0 {
		return nil
	}
	return idle[w.random.IntN(len(idle))]
}

// control requests the executors of an attempt to end it, or lets them begin it.
func (w *world) control(control engine.Control) {
	for _, x := range w.executors {
		for _, a := range x.running {
			if a.task.Run != control.Run || a.task.Attempt != control.Attempt || a.x.group.dead {
				continue
			}
			switch {
			case control.Kind == engine.ControlCancel:
				a.cancelled = true
			case x.group.name == control.Executor && a.token == control.Token:
				a.mayBegin = true
			}
			a.process.wake()
		}
	}
}

// take begins to handle a delivered task.
func (x *executor) take(delivered *waiting, copies int) {
	x.busy++
	a := &attempt{x: x, task: delivered.task}
	given := x.w.elapsed
	x.running = append(x.running, a)
	group := x.group
	a.process = x.w.spawn(group, x.w.between(100*time.Microsecond, 2*time.Millisecond), func(*process) {
		outlived := func() bool { return x.w.queue.outlived(delivered, copies, given) }
		if outlived() {
			x.w.queue.drop(delivered)
		} else {
			a.handle(delivered, outlived)
		}
		if group.dead {
			return
		}
		if a.program != nil {
			a.program.end("its executor let go of it")
		}
		x.busy--
		for i, other := range x.running {
			if other == a {
				x.running = append(x.running[:i:i], x.running[i+1:]...)
				break
			}
		}
		x.leaveIfDrained()
		x.w.after(0, x.w.queue.dispatch)
	})
}
