package process

import (
	"bytes"
	"errors"
	"math"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// resourceLimits are the limits of each of the program's processes. Where a controller keeps a limit for all of them
// together, the largest one counts.
func (p *Process) resourceLimits() (wanted []resourceLimit) {
	if n := p.limits.OpenFiles; n > 0 {
		most := uint64(n)
		var own unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err == nil {
			most = min(most, own.Max) // more is not ours to give
		}
		wanted = append(wanted, resourceLimit{unix.RLIMIT_NOFILE, most, most})
	}
	memory, cpu := p.host.Limited()
	if p.group == nil || !p.group.limited {
		memory, cpu = false, false
	}
	if p.limits.CPU > 0 && p.limits.Time > 0 && !cpu {
		// The same work in the same time: half a core for an hour is half an hour of one.
		seconds := uint64(math.Ceil(p.limits.CPU * p.limits.Time.Seconds()))
		wanted = append(wanted, resourceLimit{unix.RLIMIT_CPU, seconds, seconds + 5})
	}
	if p.limits.Memory > 0 && !memory {
		// What was asked for and never touched costs nothing, so that what is in use is watched; this is for what
		// grows too fast to be watched. The shim needs some, too.
		most := max(2*uint64(p.limits.Memory), leastData)
		wanted = append(wanted, resourceLimit{unix.RLIMIT_DATA, most, most})
		p.watched = true
	}
	return wanted
}

// leastData is what the shim needs to become the program.
const leastData = 64 << 20

// limitFrom sets the limits of a program that has begun already, where there is no shim. The program is a little ahead.
// A user may limit their own processes. Those of another user need a capability that even root lacks in many containers.
func (p *Process) limitFrom(wanted []resourceLimit) {
	for _, limit := range wanted {
		err := unix.Prlimit(p.pid, limit.Resource, &unix.Rlimit{Cur: limit.Soft, Max: limit.Hard}, nil)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			p.host.log.Warn("a limit of a program cannot be set: the executor needs its guardian for it", "error", err)
		}
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

// memory is the private memory of the program's processes.
func (p *Process) memory() (used int64) {
	if p.init != nil {
		for pid := range descendants(p.pid) {
			used += privateMemory(pid)
		}
		return used
	}
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
