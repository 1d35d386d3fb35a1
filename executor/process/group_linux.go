package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// groups are the cgroups (version 2) of one Host, below one of its own. Programs without limits take turns in them:
// making one for each would cost half as much again as all else that is done for a small program.
type groups struct {
	dir         string
	memory, cpu bool // these controllers are there

	mu   sync.Mutex
	next int
	free []*group
}

// group is one cgroup.
type group struct {
	dir     string
	fd      int      // of the folder, to start programs in
	procs   *os.File // cgroup.procs
	limited bool     // it is used once

	// spent is set once it was killed. Linux 6.13 and later compare the number of kills of the new process's cgroup
	// with those of its parent's, and kill what is started in one that was killed before.
	spent atomic.Bool
}

// openGroups makes the Host's cgroup below the one that this process is in.
func openGroups(life string) (*groups, error) {
	own, err := ownGroup()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(own, groupName(life))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	g := &groups{dir: dir}
	if _, err := os.Stat(filepath.Join(dir, "cgroup.kill")); err != nil {
		_ = os.Remove(dir) // it is empty
		return nil, fmt.Errorf("the kernel has no cgroup.kill: %w", err)
	}
	if err := g.probe(); err != nil {
		killGroup(dir)
		return nil, err
	}
	g.memory, g.cpu = enableControllers(own, dir)
	return g, nil
}

// probe finds out whether a process can be started in a cgroup, which needs more than the right to make one. The file
// does not exist: who gets as far as to look for it has been let in.
func (g *groups) probe() error {
	one, err := g.take(Limits{})
	if err != nil {
		return err
	}
	defer g.put(one)
	pid, err := syscall.ForkExec(filepath.Join(g.dir, "nothing"), []string{"nothing"}, &syscall.ProcAttr{
		Sys: &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: one.fd},
	})
	if err == nil { // it was killed before it could look: see spent
		_, _ = syscall.Wait4(pid, nil, 0, nil)
		return errors.New("the kernel kills what is started in a new cgroup")
	}
	if !errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("no process can be started in a cgroup: %w", err)
	}
	return nil
}

func groupName(life string) string {
	return "tidewheel-" + shortHash(filepath.Dir(life)) + "-" + strings.TrimPrefix(filepath.Base(life), lifePrefix)
}

// ownGroup finds the folder of the cgroup that this process is in.
func ownGroup() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	memberships, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	return findGroup(string(mounts), string(memberships))
}

// findGroup reads proc_pid_mountinfo(5) and cgroups(7).
func findGroup(mounts, memberships string) (string, error) {
	var path string
	for line := range strings.Lines(memberships) {
		if rest, ok := strings.CutPrefix(line, "0::"); ok {
			path = strings.TrimSpace(rest)
		}
	}
	if path == "" {
		return "", errors.New("this process is in no cgroup of version 2")
	}
	for line := range strings.Lines(mounts) {
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if !ok || len(fields) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
			continue
		}
		root, mount := fields[3], fields[4]
		below, err := filepath.Rel(root, path)
		if err != nil || below == ".." || strings.HasPrefix(below, "../") {
			continue // it is not visible here
		}
		return filepath.Join(mount, below), nil
	}
	return "", errors.New("no cgroup of version 2 is mounted")
}

// enableControllers hands the memory and CPU controllers down to the Host's cgroup, where the system hands them to us.
// A cgroup with processes of its own cannot hand anything down, so this process moves into one beside, if it is alone.
func enableControllers(own, dir string) (memory, cpu bool) {
	for _, controller := range []struct {
		name string
		on   *bool
	}{{"memory", &memory}, {"cpu", &cpu}} {
		if !hasController(own, controller.name) {
			continue
		}
		err := enable(own, controller.name)
		if errors.Is(err, syscall.EBUSY) && moveAside(own) == nil {
			err = enable(own, controller.name)
		}
		if err == nil {
			err = enable(dir, controller.name)
		}
		*controller.on = err == nil
	}
	return memory, cpu
}

func hasController(dir, name string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	return err == nil && strings.Contains(" "+strings.TrimSpace(string(data))+" ", " "+name+" ")
}

func enable(dir, controller string) error {
	return writeFile(filepath.Join(dir, "cgroup.subtree_control"), "+"+controller)
}

func moveAside(own string) error {
	self := strconv.Itoa(os.Getpid())
	data, err := os.ReadFile(filepath.Join(own, "cgroup.procs"))
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(data)) != self {
		return errors.New("other processes are in the same cgroup")
	}
	aside := filepath.Join(own, "tidewheel-server")
	if err := os.Mkdir(aside, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return writeFile(filepath.Join(aside, "cgroup.procs"), self)
}

// writeFile writes a setting of the kernel, which must exist.
func writeFile(path, value string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(value)
	return errors.Join(err, file.Close())
}

func (g *groups) path() string {
	if g == nil {
		return ""
	}
	return g.dir
}

// take returns a cgroup for one program; nil where there are none.
func (g *groups) take(limits Limits) (*group, error) {
	if g == nil {
		return nil, nil
	}
	limited := (g.memory && limits.Memory > 0) || (g.cpu && limits.CPU > 0)
	g.mu.Lock()
	if last := len(g.free) - 1; last >= 0 && !limited {
		one := g.free[last]
		g.free = g.free[:last]
		g.mu.Unlock()
		return one, nil
	}
	g.next++
	name := strconv.Itoa(g.next)
	g.mu.Unlock()
	one, err := newGroup(filepath.Join(g.dir, name))
	if err != nil {
		return nil, err
	}
	one.limited = limited
	if err := g.bound(one, limits); err != nil {
		one.remove()
		return nil, err
	}
	return one, nil
}

func newGroup(dir string) (*group, error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		_ = os.Remove(dir) // it is empty
		return nil, err
	}
	procs, err := os.Open(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		closeAll(fd)
		_ = os.Remove(dir) // it is empty
		return nil, err
	}
	return &group{dir: dir, fd: fd, procs: procs}, nil
}

// cpuPeriod is the time over which CPU is counted out.
const cpuPeriod = 100 * time.Millisecond

func (g *groups) bound(one *group, limits Limits) error {
	if g.memory && limits.Memory > 0 {
		if err := writeFile(filepath.Join(one.dir, "memory.max"), strconv.FormatInt(limits.Memory, 10)); err != nil {
			return err
		}
		// Without these, it would swap, or lose one of its processes and continue. Older kernels and machines without
		// swap lack the files.
		_ = writeFile(filepath.Join(one.dir, "memory.swap.max"), "0")
		_ = writeFile(filepath.Join(one.dir, "memory.oom.group"), "1")
	}
	if g.cpu && limits.CPU > 0 {
		period := cpuPeriod.Microseconds()
		quota := max(int64(limits.CPU*float64(period)), 1000)
		return writeFile(filepath.Join(one.dir, "cpu.max"), fmt.Sprintf("%d %d", quota, period))
	}
	return nil
}

// put takes back a cgroup in which nothing lives any more.
func (g *groups) put(one *group) {
	if g == nil || one == nil {
		return
	}
	if one.limited || one.spent.Load() || !one.empty() {
		one.remove()
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.free = append(g.free, one)
}

// close removes all cgroups.
func (g *groups) close() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range g.free {
		one.remove()
	}
	g.free = nil
	killGroup(g.dir)
}

func (one *group) kill() {
	one.spent.Store(true)
	_ = writeFile(filepath.Join(one.dir, "cgroup.kill"), "1") // clear sees whether it helped
}

func (one *group) empty() bool {
	var some [16]byte
	n, _ := one.procs.ReadAt(some[:], 0) // at the end it says EOF
	return n == 0
}

// clear kills what lives in the cgroup and waits until it has gone.
func (one *group) clear() {
	if one.empty() {
		return
	}
	one.kill()
	deadline := time.Now().Add(settleTimeout)
	for wait := 50 * time.Microsecond; !one.empty() && time.Now().Before(deadline); wait = min(2*wait, 10*time.Millisecond) {
		pause(wait)
	}
}

func (one *group) remove() {
	_ = one.procs.Close() // it was only read
	closeAll(one.fd)
	_ = os.Remove(one.dir) // what is left is removed with the Host's, or at the next start
}

// pids lists what lives in the cgroup.
func (one *group) pids() []int {
	data, err := os.ReadFile(filepath.Join(one.dir, "cgroup.procs"))
	if err != nil {
		return nil
	}
	var pids []int
	for _, field := range bytes.Fields(data) {
		if pid, err := strconv.Atoi(string(field)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// ranOut reports whether the kernel killed something in it for want of memory.
func (one *group) ranOut() bool {
	data, err := os.ReadFile(filepath.Join(one.dir, "memory.events"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		if name, count, _ := strings.Cut(strings.TrimSpace(line), " "); name == "oom_kill" && count != "0" {
			return true
		}
	}
	return false
}

// killMembers kills all that lives in the cgroups of a Host's programs and began before an instant of clock, one by one
// and again until nothing is left. It leaves the cgroups as they were: the Host may continue to use them (see spent).
func killMembers(dir string, timeout, instant time.Duration) {
	deadline := time.Now().Add(timeout)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		below, _ := os.ReadDir(dir) // an empty list is right for one that has gone
		left := false
		for _, entry := range below {
			for _, pid := range (&group{dir: filepath.Join(dir, entry.Name())}).pids() {
				if beganBefore(pid, instant) {
					left = true
					_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone already
				}
			}
		}
		if !left || time.Now().After(deadline) {
			return
		}
		pause(wait)
	}
}

// killGroup kills all that lives in a Host's cgroup, and removes it with those below it.
func killGroup(dir string) {
	if _, err := os.Stat(dir); err != nil {
		return
	}
	_ = writeFile(filepath.Join(dir, "cgroup.kill"), "1") // below, too
	deadline := time.Now().Add(settleTimeout)
	for wait := time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		below, _ := os.ReadDir(dir) // an empty list is tried as well
		for _, entry := range below {
			if entry.IsDir() {
				_ = os.Remove(filepath.Join(dir, entry.Name())) // busy while something lives in it
			}
		}
		if err := os.Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) || time.Now().After(deadline) {
			return
		}
		pause(wait)
	}
}

// removeGroups kills and removes the cgroup of a life that has ended.
func removeGroups(life string) {
	own, err := ownGroup()
	if err != nil {
		return
	}
	// The executor may have moved itself aside since, or not.
	for _, parent := range []string{own, filepath.Dir(own)} {
		killGroup(filepath.Join(parent, groupName(life)))
	}
}
