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
	// begin breaks something that belongs to a part for about so long and returns a function that ends that; nil if it could not.
	begin func(p *part, random *rand.Rand, lasts time.Duration) (end func())
}

// target is the parts of one kind, and how they break.
type target struct {
	kind   string
	weight int
	parts  []*part
	faults []fault
	most   time.Duration // how long a fault lasts
}

// The kinds of parts.
const (
	kindExecutor = "executor"
	kindLocker   = "locker"
	kindNATS     = "nats"
	kindEngine   = "engine"
	kindDatabase = "database"
	kindS3       = "s3"
)

// breaker breaks the cluster by a schedule that a seed decides. A part has one fault at a time; several parts may.
type breaker struct {
	c       *cluster
	random  *rand.Rand
	targets []target
	pace    time.Duration // between two faults, on average

	mu       sync.Mutex
	busy     map[*part]bool
	count    map[string]int
	troubles []trouble
}

// trouble is a time in which a part of a kind may not have done its work.
type trouble struct {
	kind       string
	begin, end time.Time
}

// recovery is how long a part that was broken may take to do its work again: to start, to be heard of, and to take up
// what waits, on a busy machine.
const recovery = 10 * time.Second

func newBreaker(c *cluster, random *rand.Rand, pace time.Duration) *breaker {
	b := &breaker{c: c, random: random, pace: pace, busy: map[*part]bool{}, count: map[string]int{}}
	kill := func(away time.Duration) fault {
		return fault{"killed", 4, func(p *part, random *rand.Rand, _ time.Duration) func() {
			p.signal(syscall.SIGKILL, spell(random, 0, away))
			return func() {}
		}}
	}
	stop := fault{"stopped", 4, func(p *part, _ *rand.Rand, _ time.Duration) func() {
		p.signal(syscall.SIGSTOP, 0)
		return func() { p.signal(syscall.SIGCONT, 0) }
	}}
	ask := fault{"asked to end", 2, func(p *part, random *rand.Rand, _ time.Duration) func() {
		p.signal(syscall.SIGTERM, spell(random, 0, time.Second))
		return func() {}
	}}
	cut := fault{"cut off", 4, func(p *part, _ *rand.Rand, _ time.Duration) func() {
		c.network.cut(p.name)
		return func() { c.network.mend(p.name) }
	}}
	orphan := fault{"killed its guardian", 1, func(p *part, _ *rand.Rand, _ time.Duration) func() {
		if pid := guardianOf(p.id()); pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended just now
			return func() {}
		}
		return nil
	}}
	full := fault{"got a full disk", 2, func(p *part, _ *rand.Rand, _ time.Duration) func() {
		disk := c.disks[p.name]
		if err := disk.fill(); err != nil {
			c.t.Errorf("fill the disk of %s: %v", p.name, err)
		}
		return func() {
			if err := disk.free(); err != nil {
				c.t.Errorf("free the disk of %s: %v", p.name, err)
			}
			// An operator who makes space restarts the part whose disk was full.
			p.signal(syscall.SIGKILL, 0)
		}
	}}
	slow := fault{"got a slow disk", 2, func(p *part, random *rand.Rand, _ time.Duration) func() {
		stop := make(chan struct{})
		var done sync.WaitGroup
		done.Go(func() {
			if err := c.disks[p.name].stutter(random, stop); err != nil {
				c.t.Errorf("slow down the disk of %s: %v", p.name, err)
			}
		})
		return func() { close(stop); done.Wait() }
	}}
	spoil := func(name string, how spoilage) fault {
		return fault{name, 3, func(*part, *rand.Rand, time.Duration) func() {
			c.network.spoil(serviceS3, how)
			return func() { c.network.spoil(serviceS3, spoilNothing) }
		}}
	}
	s3Faults := []fault{spoil("answered errors", spoilErrors), spoil("answered partly", spoilPartly)}
	const away = 3 * time.Second
	// Some faults pass before a lock or a lease can expire, most do not.
	const most, mostOfShared = 3 * lockTTL, 2 * leaseTTL
	b.add(kindExecutor, 11, c.executors, most, kill(away), stop, ask, cut, orphan)
	b.add(kindLocker, 2, c.lockers, most, kill(away), stop, cut)
	b.add(kindNATS, 3, []*part{c.nats}, most, kill(away), stop, ask, cut)
	if c.database == nil {
		b.add(kindEngine, 4, c.engines, most, kill(away), stop, ask, cut)
		b.add(kindS3, 1, c.engines, most, s3Faults...)
	} else {
		b.add(kindEngine, 7, c.engines, mostOfShared, kill(mostOfShared), stop, ask, cut)
		faults := []fault{kill(away), stop, ask, cut}
		for _, name := range slices.Sorted(maps.Keys(c.config.Database.Faults)) {
			faults = append(faults, fault{name, 2, func(_ *part, _ *rand.Rand, lasts time.Duration) func() {
				asking, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				if c.config.Database.Faults[name](asking, c.listen(serviceDatabase), lasts) != nil {
					return nil // it is unavailable just now
				}
				return func() {}
			}})
		}
		b.add(kindDatabase, 4, []*part{c.database}, mostOfShared, faults...)
		b.add(kindS3, 2, []*part{c.s3}, most, append(s3Faults, kill(away), stop, ask, cut)...)
	}
	for i := range b.targets {
		t := &b.targets[i]
		if c.disks[t.parts[0].name] == nil || t.kind == kindS3 && c.s3 == nil {
			continue
		}
		t.faults = append(t.faults, full)
		if c.disks[t.parts[0].name].canFreeze {
			t.faults = append(t.faults, slow)
		}
	}
	return b
}

// add lets the parts of a kind break, if there are any; the weight is that of all of them together.
func (b *breaker) add(kind string, weight int, parts []*part, most time.Duration, faults ...fault) {
	if len(parts) > 0 {
		b.targets = append(b.targets, target{kind, weight, parts, faults, most})
	}
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
		chosen := draw(b.random, b.targets, func(t target) int { return t.weight })
		broken := chosen.parts[b.random.IntN(len(chosen.parts))]
		one := draw(b.random, chosen.faults, func(f fault) int { return f.weight })
		lasts := spell(b.random, chosen.most/12, chosen.most)
		own := rand.New(rand.NewPCG(b.random.Uint64(), 0))
		if !b.take(broken) {
			continue
		}
		all.Go(func() {
			defer b.leave(broken)
			end := one.begin(broken, own, lasts)
			if end == nil {
				return
			}
			b.noted(chosen.kind, broken.name, one.name)
			began := time.Now()
			defer func() { b.remember(trouble{chosen.kind, began, time.Now().Add(recovery)}) }()
			select {
			case <-time.After(lasts):
			case <-ctx.Done():
			}
			end()
		})
	}
}

// draw draws one by weight.
func draw[T any](random *rand.Rand, from []T, weight func(T) int) T {
	sum := 0
	for _, one := range from {
		sum += weight(one)
	}
	n := random.IntN(sum)
	for _, one := range from {
		if n -= weight(one); n < 0 {
			return one
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

func (b *breaker) noted(kind, part, what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count[kind+" "+what]++
	b.c.t.Logf("%s %s %s", time.Now().Format("15:04:05.000"), part, what)
}

func (b *breaker) remember(t trouble) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.troubles = append(b.troubles, t)
}

// report reports how often each fault came, and of how many in all.
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
