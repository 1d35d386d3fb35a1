package sim

import (
	"container/heap"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/tidewheel/tidewheel/engine/shard"
)

// world is the virtual time and all that happens in it.
type world struct {
	seed    uint64
	random  *rand.Rand
	start   time.Time     // of the wall clock
	elapsed time.Duration // since the start, never backwards
	offset  time.Duration // by how much the wall clock has jumped, in all
	agenda  agenda
	order   uint64
	steps   int
	peak    time.Time // the latest that any clock has shown by which something is scheduled

	programsAway time.Duration // until then no program is fetched

	faults  faults
	counts  counts
	history history
	failure *Failure
	stack   func() []byte
	without map[string]bool // choices that are left out; only looked up

	truth     *truth
	queue     *queue
	config    shard.Config // of each engine
	bound     int          // of the attempts that an engine may have under way, 0 for none
	engines   []*driver
	owners    *owners
	leases    *leases
	executors []*executor
	users     *users
	journal   *journal
	notifier  *notifier
	groups    []*group
	idle      []*coroutine
}

// event is one entry of the agenda.
type event struct {
	at        time.Duration
	order     uint64 // entries of one instant happen in the order in which they were made
	do        func()
	cancelled bool
}

type agenda []*event

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || (a[i].at == a[j].at && a[i].order < a[j].order)
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

// Push is for container/heap.
func (a *agenda) Push(x any) { *a = append(*a, x.(*event)) }

// Pop is for container/heap.
func (a *agenda) Pop() any {
	old := *a
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*a = old[:len(old)-1]
	return last
}

// mostSteps is far more than any world takes: most take some thousands.
const mostSteps = 1_500_000

// after lets something happen once this much time has passed.
func (w *world) after(wait time.Duration, do func()) *event {
	w.order++
	e := &event{at: w.elapsed + max(wait, 0), order: w.order, do: do}
	heap.Push(&w.agenda, e)
	return e
}

func (e *event) cancel() {
	if e != nil {
		e.cancelled, e.do = true, nil
	}
}

// run lets time pass until an instant, or until something is found wrong.
func (w *world) run(until time.Duration) {
	for w.failure == nil && len(w.agenda) > 0 && w.agenda[0].at <= until {
		e := heap.Pop(&w.agenda).(*event)
		if e.cancelled {
			continue
		}
		w.elapsed = e.at
		w.look()
		if w.steps++; w.steps > mostSteps {
			w.fail("a world comes to rest", "after %d steps it has not", w.steps)
		}
		w.happen(e)
	}
	w.elapsed = max(w.elapsed, until)
}

// look remembers the latest that any clock has shown by which something is scheduled.
func (w *world) look() {
	ahead := max(0, w.users.time.offBy())
	for _, e := range w.engines {
		ahead = max(ahead, e.time.offBy())
	}
	if now := w.wall().Add(ahead); now.After(w.peak) {
		w.peak = now
	}
}

func (w *world) happen(e *event) {
	defer w.caught()
	e.do()
}

// wall is what the clock on the wall shows.
func (w *world) wall() time.Time { return w.start.Add(w.elapsed + w.offset) }

// between draws a time.
func (w *world) between(least, most time.Duration) time.Duration {
	return least + time.Duration(w.random.Int64N(int64(most-least)+1))
}

// odds draws true with a probability.
func (w *world) odds(probability float64) bool { return w.random.Float64() < probability }

func pick[T any](w *world, of ...T) T { return of[w.random.IntN(len(of))] }

// Failure is a violation that was found.
type Failure struct {
	Invariant string
	Detail    string
}

func (w *world) fail(invariant, format string, arguments ...any) {
	if w.failure == nil {
		w.failure = &Failure{Invariant: invariant, Detail: fmt.Sprintf(format, arguments...)}
		w.note("FAIL", invariant, w.failure.Detail, 0)
	}
}

// history keeps the latest lines of the trace, unformatted: most are never read.
type history struct {
	lines []line
	next  int
	whole io.Writer // gets every line; may be nil
}

type line struct {
	elapsed, offset time.Duration
	what, who       string
	detail          string
	number          int64
}

const kept = 80

func (w *world) note(what, who, detail string, number int64) {
	l := line{elapsed: w.elapsed, offset: w.offset, what: what, who: who, detail: detail, number: number}
	h := &w.history
	if h.whole != nil {
		_, _ = fmt.Fprintln(h.whole, l.format(w.start)) // the reader of the trace sees that it stopped
	}
	if len(h.lines) < kept {
		h.lines = append(h.lines, l)
		return
	}
	h.lines[h.next] = l
	h.next = (h.next + 1) % kept
}

func (l line) format(start time.Time) string {
	wall := start.Add(l.elapsed + l.offset).Format("15:04:05.000")
	return fmt.Sprintf("%10.3f %s %-18s %-38s %s %d", l.elapsed.Seconds(), wall, l.what, l.who, l.detail, l.number)
}

func (w *world) trace() []string {
	h := &w.history
	lines := make([]string, 0, len(h.lines))
	for i := range h.lines {
		lines = append(lines, h.lines[(h.next+i)%len(h.lines)].format(w.start))
	}
	return lines
}
