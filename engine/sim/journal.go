package sim

import (
	"time"

	"github.com/tidewheel/tidewheel/engine"
)

// journal is the witness of what ran: it is written by the programs themselves, not by Tidewheel.
type journal struct {
	w       *world
	started map[string]uint64     // attempt → token; only looked up
	tokens  map[string]uint64     // the latest under each lock; only looked up
	starts  []start               // in order
	living  map[string][]*program // by job; only looked up
	left    map[string]*outputs   // by attempt, of those that succeeded; only looked up
}

type start struct {
	run     string
	attempt int
	token   uint64
	job     string
}

// program is a running process.
type program struct {
	w        *world
	attempt  *attempt
	ended    bool
	why      string // how it ended: "exit", "timeout", "cancelled", "drained", "watchdog", …
	code     int
	natural  *event
	watchdog *event
}

// start begins the process of an attempt, and checks that it may.
func (j *journal) start(a *attempt) *program {
	w, task := j.w, a.task
	key := attemptKey(task.Run, task.Attempt)
	w.note("process starts", key, a.x.group.name, int64(a.token))
	if before, again := j.started[key]; again {
		w.fail("no attempt starts twice", "%s started with token %d, and before with token %d", key, a.token, before)
	}
	j.started[key] = a.token
	j.again(task)
	j.starts = append(j.starts, start{run: task.Run, attempt: task.Attempt, token: a.token, job: task.JobUID})
	for _, other := range j.living[task.JobUID] {
		if other.attempt.task.Lock == task.Lock {
			w.fail("one live process a lock", "%s started while %s ran under lock %s", key,
				attemptKey(other.attempt.task.Run, other.attempt.task.Attempt), task.Lock)
		}
		w.users.overlaps(other.attempt.task, task)
	}
	if task.Task != "" {
		w.mayStart(task, j.living[task.JobUID])
	}
	if before := j.tokens[task.Lock]; before >= a.token {
		w.fail("tokens grow", "%s started under lock %s with token %d, after token %d", key, task.Lock, a.token, before)
	}
	j.tokens[task.Lock] = a.token
	p := &program{w: w, attempt: a}
	j.living[task.JobUID] = append(j.living[task.JobUID], p)

	lasts, code := w.users.behaviour(task)
	timedOut := lasts > task.Timeout
	if timedOut {
		lasts = task.Timeout
	}
	p.natural = w.after(lasts, func() {
		p.code = code
		if timedOut {
			p.end("timeout")
		} else {
			p.end("exit")
		}
	})
	p.guard()
	return p
}

// guard is the watchdog that ends the process before another executor can take its lock.
func (p *program) guard() {
	p.watchdog.cancel()
	p.watchdog = p.w.after(p.attempt.deadline-p.w.elapsed, func() { p.end("watchdog") })
}

// terminate ends the process after its grace.
func (p *program) terminate(grace time.Duration, why string) {
	p.w.after(grace, func() { p.end(why) })
}

func (p *program) end(why string) {
	if p.ended {
		return
	}
	p.ended, p.why = true, why
	p.natural.cancel()
	p.watchdog.cancel()
	task := p.attempt.task
	p.w.note("process ends", attemptKey(task.Run, task.Attempt), why, int64(p.code))
	p.w.counts.add("process", why)
	living := p.w.journal.living[task.JobUID]
	for i, other := range living {
		if other == p {
			p.w.journal.living[task.JobUID] = append(living[:i:i], living[i+1:]...)
			break
		}
	}
	if !p.attempt.x.group.dead {
		p.attempt.process.wake()
	}
}

// describe writes how the process ended into the attempt's last report.
func (p *program) describe(f *engine.Finish) {
	code := p.code
	switch p.why {
	case "exit":
		f.ExitCode = &code
		f.Status = engine.StatusFailed
		if code == 0 {
			f.Status = engine.StatusSucceeded
			p.leave(f)
		}
	case "timeout":
		f.Status, f.Signal = engine.StatusTimedOut, "KILL"
	case "cancelled":
		f.Status, f.Signal = engine.StatusCancelled, "TERM"
	case "drained":
		f.Status, f.Signal, f.HandedBack = engine.StatusFailed, "TERM", true
	default:
		f.Status, f.Signal = engine.StatusFailed, "KILL"
	}
}

// leave writes the outputs of a task that has succeeded.
func (p *program) leave(f *engine.Finish) {
	task := p.attempt.task
	m := p.w.users.dagByUID[task.JobUID]
	if m == nil {
		return
	}
	if left := m.behaviour.leave(p.w); left != nil {
		p.w.journal.left[attemptKey(task.Run, task.Attempt)] = left
		f.Outputs = []byte(left.text())
	}
}

// dropped notes that a run was taken out of the store: nothing of it may have started.
func (j *journal) dropped(run string) {
	for i := range j.starts {
		if j.starts[i].run == run {
			j.w.fail("every process has its run", "run %s was dropped, and its attempt %d had started", run, j.starts[i].attempt)
		}
	}
}
