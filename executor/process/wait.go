package process

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// Wait reads what the program prints until it and all that it has started are gone.
func (p *Process) Wait() Exit {
	var ended chan struct{}
	err := p.output.ready.SetReadDeadline(p.began.Add(short))
	for killed := false; err == nil; {
		err = p.output.read()
		switch {
		case err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
		case ended == nil:
			ended = make(chan struct{})
			err = p.output.ready.SetReadDeadline(time.Time{})
			p.announce()
			go p.awaitEnd(ended)
		case !killed && p.group == nil && p.init == nil:
			// A process that has left the group keeps the output open.
			killed, err = true, p.output.ready.SetReadDeadline(time.Now().Add(drainLast))
			killMarked(p.folder.Path, settleTimeout)
		default:
			p.output.readRest()
		}
	}
	if ended != nil {
		<-ended
	} else {
		awaitExit(p.pid, nil)
		p.end()
	}
	p.output.close()
	return p.reap()
}

// awaitEnd waits for the program beside the reader, because what it has started may keep the output open.
func (p *Process) awaitEnd(ended chan struct{}) {
	defer close(ended)
	awaitExit(p.pid, p.sample)
	p.end()
	wait := drainLast
	if p.group == nil {
		wait = drainFirst
	}
	_ = p.output.ready.SetReadDeadline(time.Now().Add(wait)) // fails only if the reader has finished
}

// announce registers a program that lives longer with the guardian. In a cgroup that is not needed.
func (p *Process) announce() {
	if p.host.guardian == nil || p.group != nil {
		return
	}
	p.announced = true
	p.host.guardian.began(p.pid)
}

// end kills what the program has left behind. The program itself is a zombie still, so that its id and its group's
// are not reused.
func (p *Process) end() {
	p.mu.Lock()
	_ = syscall.Kill(-p.pid, syscall.SIGKILL) // the zombie, at least
	p.gone = true
	killed := p.killed
	p.mu.Unlock()
	if p.announced {
		p.host.guardian.gone(p.pid)
	}
	if p.group != nil {
		p.group.clear()
	} else if killed && p.init == nil {
		killMarked(p.folder.Path, settleTimeout)
	}
}

// reap takes the program's last words from the system.
func (p *Process) reap() Exit {
	if p.watch != nil {
		close(p.watch)
		p.watchs.Wait()
	}
	var status syscall.WaitStatus
	var usage syscall.Rusage
	for {
		if _, err := syscall.Wait4(p.pid, &status, 0, &usage); err != syscall.EINTR {
			break
		}
	}
	p.settle()
	if p.host.users != nil && p.group == nil && p.init == nil { // it may have left its group, and cannot have left its user
		killUser(p.folder.UID, settleTimeout)
	}
	// The readers of its input are dead, so that this ends.
	p.input.Wait()
	p.host.leave(p.folder)
	exit := Exit{CPU: time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), MaxRSS: max(maxRSS(&usage), p.peak), Over: p.over}
	if p.init != nil {
		if word, known := p.init.ended(); known {
			status, exit.CPU, exit.MaxRSS = word.Status, word.CPU, max(word.MaxRSS, p.peak)
		}
	}
	exit.Code = status.ExitStatus()
	if status.Signaled() {
		exit.Code, exit.Signal = 0, status.Signal()
	}
	p.judge(&exit)
	p.host.groups.put(p.group)
	return exit
}

// settle waits until nothing lives in the process group: killed processes take a moment to go.
func (p *Process) settle() {
	if p.group != nil || p.init != nil {
		return // clear has waited for more, and so has the kernel, which ends a namespace with its init
	}
	var waited time.Duration
	for wait := 50 * time.Microsecond; syscall.Kill(-p.pid, 0) == nil && waited < settleTimeout; wait = min(2*wait, 10*time.Millisecond) {
		// Zombies count as members until their parent reaps them, which may take long.
		if waited > time.Millisecond && !groupLives(p.pid) {
			return
		}
		pause(wait)
		waited += wait
	}
}
