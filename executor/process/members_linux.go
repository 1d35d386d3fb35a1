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
			data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			if err != nil {
				continue // gone
			}
			// The name, in brackets, may hold anything; then come state, parent and group.
			fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
			if len(fields) < 3 || string(fields[0]) == "Z" || string(fields[2]) != strconv.Itoa(leader) {
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
