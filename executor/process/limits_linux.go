package process

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// limit sets what each of the program's processes may use. The program has begun a few microseconds ago, which its
// loader takes. Where a controller keeps a limit for all of them together, that one counts.
func (p *Process) limit() {
	if n := p.limits.OpenFiles; n > 0 {
		p.setLimit(unix.RLIMIT_NOFILE, uint64(n), uint64(n))
	}
	memory, cpu := p.host.Limited()
	if p.group == nil || !p.group.limited {
		memory, cpu = false, false
	}
	if p.limits.CPU > 0 && p.limits.Time > 0 && !cpu {
		// The same work in the same time: half a core for an hour is half an hour of one.
		seconds := uint64(math.Ceil(p.limits.CPU * p.limits.Time.Seconds()))
		p.setLimit(unix.RLIMIT_CPU, seconds, seconds+5)
	}
	if p.limits.Memory > 0 && !memory {
		// What was asked for and never touched costs nothing, so that what is in use is watched; this is for what
		// grows too fast to be watched.
		p.setLimit(unix.RLIMIT_DATA, 2*uint64(p.limits.Memory), 2*uint64(p.limits.Memory))
		p.watch = make(chan struct{})
		p.watchs.Go(p.watchMemory)
	}
}

func (p *Process) setLimit(resource int, soft, hard uint64) {
	limit := unix.Rlimit{Cur: soft, Max: hard}
	if err := unix.Prlimit(p.pid, resource, &limit, nil); err != nil && err != unix.ESRCH {
		p.host.log.Warn("a limit of a program cannot be set", "resource", resource, "error", err)
	}
}

// How often the memory of a program is looked at: as often as it could have used up what is left since.
const (
	touchRate  = 2 << 30 // bytes a second that a program can take into use
	watchLeast = 5 * time.Millisecond
	watchMost  = 250 * time.Millisecond
)

// watchMemory ends a program that uses more memory than it may, all its processes together.
func (p *Process) watchMemory() {
	timer := time.NewTimer(watchLeast)
	defer timer.Stop()
	for {
		select {
		case <-p.watch:
			return
		case <-timer.C:
		}
		used := p.memory()
		p.mu.Lock()
		p.peak = max(p.peak, used)
		p.mu.Unlock()
		if used > p.limits.Memory {
			p.kill(OverMemory)
			return
		}
		left := time.Duration(float64(p.limits.Memory-used) / touchRate * float64(time.Second))
		timer.Reset(min(max(left, watchLeast), watchMost))
	}
}

// memory is what the program's processes hold that they share with nobody.
func (p *Process) memory() (used int64) {
	if p.group == nil {
		return groupMemory(p.pid)
	}
	for _, pid := range p.group.pids() {
		used += privateMemory(pid)
	}
	return used
}

// groupMemory sums over a process group.
func groupMemory(leader int) (used int64) {
	for pid := range members(leader) {
		used += privateMemory(pid)
	}
	return used
}

var pageSize = int64(os.Getpagesize())

func privateMemory(pid int) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	fields := bytes.Fields(data)
	if err != nil || len(fields) < 3 {
		return 0
	}
	resident, _ := strconv.ParseInt(string(fields[1]), 10, 64) // the kernel writes numbers
	shared, _ := strconv.ParseInt(string(fields[2]), 10, 64)
	return (resident - shared) * pageSize
}

// judge finds out whether a limit ended the program.
func (p *Process) judge(exit *Exit) {
	if exit.Over != OverNone || (exit.Signal == 0 && exit.Code == 0) {
		return
	}
	switch {
	case p.limits.Memory > 0 && p.group != nil && p.group.limited && p.group.ranOut():
		exit.Over = OverMemory
	case p.limits.Memory > 0 && exit.MaxRSS > p.limits.Memory && exit.Signal != unix.SIGTERM && !p.killed:
		exit.Over = OverMemory // it was refused more before it was seen
	case exit.Signal == unix.SIGXCPU:
		exit.Over = OverCPU
	}
}
