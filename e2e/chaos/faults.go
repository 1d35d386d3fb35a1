package chaos

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// fault is something that goes wrong for a while.
type fault struct {
	name   string
	weight int
	// begin breaks something that belongs to a part and tells how to end that; nil if it could not.
	begin func(p *part, random *rand.Rand) (end func())
}

// breaker breaks the cluster by a schedule that a seed decides. A part has one fault at a time; several parts may.
type breaker struct {
	c      *cluster
	random *rand.Rand
	faults map[string][]fault // by the kind of part
	pace   time.Duration      // between two faults, on average

	mu    sync.Mutex
	busy  map[*part]bool
	count map[string]int
}

func newBreaker(c *cluster, random *rand.Rand, pace time.Duration) *breaker {
	b := &breaker{c: c, random: random, pace: pace, busy: map[*part]bool{}, count: map[string]int{}}
	kill := fault{"killed", 4, func(p *part, random *rand.Rand) func() {
		p.signal(syscall.SIGKILL, spell(random, 0, 3*time.Second))
		return func() {}
	}}
	stop := fault{"stopped", 4, func(p *part, _ *rand.Rand) func() {
		p.signal(syscall.SIGSTOP, 0)
		return func() { p.signal(syscall.SIGCONT, 0) }
	}}
	ask := fault{"asked to end", 2, func(p *part, random *rand.Rand) func() {
		p.signal(syscall.SIGTERM, spell(random, 0, time.Second))
		return func() {}
	}}
	cut := fault{"cut off", 4, func(p *part, _ *rand.Rand) func() {
		c.network.cut(p.name)
		return func() { c.network.mend(p.name) }
	}}
	orphan := fault{"killed its guardian", 1, func(p *part, _ *rand.Rand) func() {
		if pid := guardianOf(p.id()); pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended just now
			return func() {}
		}
		return nil
	}}
	full := fault{"got a full disk", 2, func(p *part, _ *rand.Rand) func() {
		disk := c.disks[p.name]
		if err := disk.fill(); err != nil {
			c.t.Errorf("fill the disk of %s: %v", p.name, err)
		}
		return func() {
			if err := disk.free(); err != nil {
				c.t.Errorf("free the disk of %s: %v", p.name, err)
			}
			// Whoever makes space starts again what it was full for.
			p.signal(syscall.SIGKILL, 0)
		}
	}}
	b.faults = map[string][]fault{
		"executor": {kill, stop, ask, cut, orphan},
		partEngine: {kill, stop, ask, cut},
		partNATS:   {kill, stop, ask, cut},
		"locker":   {kill, stop, cut},
	}
	for part := range c.disks {
		b.faults[part] = append(b.faults[part], full)
	}
	return b
}

// spell draws a time.
func spell(random *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(random.Int64N(int64(most-least)+1))
}

// run breaks until ctx ends, then mends all and returns. Whatever it decides, it decides from the seed; when that takes
// effect depends on the machine.
func (b *breaker) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(spell(b.random, b.pace/2, 3*b.pace/2)):
		}
		target, kind := b.target()
		one := b.choose(b.faults[kind])
		// Some faults pass before a lock can expire, most do not.
		lasts := spell(b.random, lockTTL/4, 3*lockTTL)
		own := rand.New(rand.NewPCG(b.random.Uint64(), 0))
		if !b.take(target) {
			continue
		}
		all.Go(func() {
			defer b.leave(target)
			end := one.begin(target, own)
			if end == nil {
				return
			}
			b.noted(kind + " " + one.name)
			select {
			case <-time.After(lasts):
			case <-ctx.Done():
			}
			end()
		})
	}
}

// target draws a part: executors most often, as there are most of them.
func (b *breaker) target() (*part, string) {
	switch n := b.random.IntN(20); {
	case n < 3:
		return b.c.nats, partNATS
	case n < 7:
		return b.c.engine, partEngine
	case n < 9 && len(b.c.lockers) > 0:
		return b.c.lockers[b.random.IntN(len(b.c.lockers))], "locker"
	}
	return b.c.executors[b.random.IntN(len(b.c.executors))], "executor"
}

func (b *breaker) choose(faults []fault) fault {
	sum := 0
	for _, f := range faults {
		sum += f.weight
	}
	n := b.random.IntN(sum)
	for _, f := range faults {
		if n -= f.weight; n < 0 {
			return f
		}
	}
	panic("unreachable")
}

func (b *breaker) take(p *part) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.busy[p] {
		return false
	}
	b.busy[p] = true
	return true
}

func (b *breaker) leave(p *part) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy[p] = false
}

func (b *breaker) noted(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count[what]++
	b.c.t.Logf("%s %s", time.Now().Format("15:04:05.000"), what)
}

// report tells how often each fault came, and of how many in all.
func (b *breaker) report() (text string, all int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(b.count)) {
		lines = append(lines, fmt.Sprintf("%s %d×", what, b.count[what]))
		all += b.count[what]
	}
	return strings.Join(lines, ", "), all
}

// guardianOf finds the guardian of an executor: its child of that name. 0 if there is none.
func guardianOf(executor int) int {
	if executor == 0 {
		return 0
	}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", executor))
	if err != nil {
		return 0
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		for _, word := range strings.Fields(string(text)) {
			command, err := os.ReadFile("/proc/" + word + "/cmdline")
			if err == nil && strings.Contains(string(command), "executor-guardian\x00/") {
				pid, _ := strconv.Atoi(word) // the kernel writes numbers
				return pid
			}
		}
	}
	return 0
}
