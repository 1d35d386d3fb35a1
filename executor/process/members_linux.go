package process

import (
	"bytes"
	"iter"
	"os"
	"strconv"
)

// members lists the living processes of a process group.
func members(leader int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for pid := range pids() {
			if _, group, lives := kin(pid); !lives || group != leader {
				continue
			}
			if !yield(pid) {
				return
			}
		}
	}
}

func groupLives(leader int) bool {
	for range members(leader) {
		return true
	}
	return false
}

// pids lists all processes.
func pids() iter.Seq[int] {
	return func(yield func(int) bool) {
		proc, err := os.Open("/proc")
		if err != nil {
			return
		}
		defer proc.Close()
		names, _ := proc.Readdirnames(-1) // those that were read before an error
		for _, name := range names {
			if pid, err := strconv.Atoi(name); err == nil && !yield(pid) {
				return
			}
		}
	}
}

// descendants lists the living processes that a process has started, and those that these have. Where it is the init of a
// namespace, these are all others in it.
func descendants(ancestor int) iter.Seq[int] {
	return func(yield func(int) bool) {
		children := make(map[int][]int)
		for pid := range pids() {
			if parent, _, lives := kin(pid); lives {
				children[parent] = append(children[parent], pid)
			}
		}
		for next := children[ancestor]; len(next) > 0; {
			pid := next[0]
			next = append(next[1:], children[pid]...)
			if !yield(pid) {
				return
			}
		}
	}
}

// kin returns the parent and the process group of a process, and reports whether it lives.
func kin(pid int) (parent, group int, lives bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, false // gone
	}
	// The name, in brackets, may hold anything; then come state, parent and group.
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 3 || string(fields[0]) == "Z" {
		return 0, 0, false
	}
	parent, _ = strconv.Atoi(string(fields[1])) // the kernel writes numbers
	group, _ = strconv.Atoi(string(fields[2]))
	return parent, group, true
}
