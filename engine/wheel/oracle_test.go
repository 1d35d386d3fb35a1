package wheel_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tidewheel/tidewheel/engine/wheel"
)

// oracle is the slow, obvious wheel: a slice sorted by instant and then by the order of Schedule.
type oracle struct {
	timers []planned
	next   int
}

type planned struct {
	at time.Time
	id int
}

func (o *oracle) schedule(at time.Time) int {
	o.next++
	index, _ := slices.BinarySearchFunc(o.timers, at, func(p planned, at time.Time) int {
		if p.at.After(at) {
			return 1
		}
		return -1
	})
	o.timers = slices.Insert(o.timers, index, planned{at, o.next})
	return o.next
}

func (o *oracle) cancel(id int) bool {
	before := len(o.timers)
	o.timers = slices.DeleteFunc(o.timers, func(p planned) bool { return p.id == id })
	return len(o.timers) < before
}

func (o *oracle) advance(now time.Time, fire func(planned)) {
	for len(o.timers) > 0 && !o.timers[0].at.After(now) {
		first := o.timers[0]
		o.timers = o.timers[1:]
		fire(first)
	}
}

// pair drives a wheel and an oracle with the same calls and compares all that can be seen.
type pair struct {
	wheel  *wheel.Wheel[int]
	oracle oracle
	timers []*wheel.Timer[int] // by id - 1
	now    time.Time
}

func newPair() *pair { return &pair{wheel: wheel.New[int](start), now: start} }

func (p *pair) schedule(at time.Time) {
	id := p.oracle.schedule(at)
	p.timers = append(p.timers, p.wheel.Schedule(at, id))
}

func (p *pair) cancel(choice int) error {
	if len(p.timers) == 0 {
		return nil
	}
	id := choice%len(p.timers) + 1
	if got, want := p.wheel.Cancel(p.timers[id-1]), p.oracle.cancel(id); got != want {
		return fmt.Errorf("Cancel(%d) = %v, want %v", id, got, want)
	}
	return nil
}

// advance moves both to now. While they fire, every timer whose id is a multiple of three schedules one at a
// multiple of its id after itself, and every multiple of five cancels one: the same in both, since both depend on the id alone.
func (p *pair) advance(now time.Time, unit time.Duration) error {
	p.now = now
	type reaction struct {
		schedule time.Time
		cancel   int
	}
	react := func(at time.Time, id int) (r reaction) {
		if id%3 == 0 {
			r.schedule = at.Add(time.Duration(id%7-3) * unit)
		}
		if id%5 == 0 {
			r.cancel = id / 2
		}
		return r
	}
	var want, got []planned
	first := p.oracle.next
	p.oracle.advance(now, func(t planned) {
		want = append(want, t)
		// A chain of timers that schedule each other in the past would not end.
		r := react(t.at, t.id)
		if !r.schedule.IsZero() && t.id <= first {
			p.oracle.schedule(r.schedule)
		}
		p.oracle.cancel(r.cancel)
	})
	id := first
	p.wheel.Advance(now, func(at time.Time, value int) {
		got = append(got, planned{at, value})
		r := react(at, value)
		if !r.schedule.IsZero() && value <= first {
			id++
			p.timers = append(p.timers, p.wheel.Schedule(r.schedule, id))
		}
		if r.cancel > 0 {
			p.wheel.Cancel(p.timers[r.cancel-1])
		}
	})
	if !slices.Equal(got, want) {
		return fmt.Errorf("Advance(%v) fired\n%v, want\n%v", now, got, want)
	}
	return nil
}

func (p *pair) check() error {
	if got, want := p.wheel.Len(), len(p.oracle.timers); got != want {
		return fmt.Errorf("Len = %d, want %d", got, want)
	}
	next, ok := p.wheel.Next()
	if want := len(p.oracle.timers) > 0; ok != want || ok && next != p.oracle.timers[0].at {
		return fmt.Errorf("Next = %v, %v; timers left: %v", next, ok, p.oracle.timers)
	}
	return nil
}

// units are the spans at which timers meet each other, the edges of a tick, and those of the levels.
var units = []time.Duration{
	1, 100 * time.Microsecond, time.Millisecond, 64 * time.Millisecond, 4096 * time.Millisecond, time.Minute,
	262_144 * time.Millisecond, 5 * time.Hour, 300 * time.Hour, 9000 * time.Hour,
}

func TestAgreesWithSortedSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPair()
		distance := rapid.Custom(func(t *rapid.T) time.Duration {
			unit := rapid.SampledFrom(units).Draw(t, "unit")
			return time.Duration(rapid.IntRange(-4, 80).Draw(t, "count")) * unit
		})
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { must(p.check()) },
			"schedule": func(t *rapid.T) {
				for _, d := range rapid.SliceOfN(distance, 1, 20).Draw(t, "at") {
					p.schedule(p.now.Add(d))
				}
			},
			"cancel": func(t *rapid.T) { must(p.cancel(rapid.IntRange(0, 1<<20).Draw(t, "timer"))) },
			"cancel the earliest": func(*rapid.T) {
				if len(p.oracle.timers) > 0 {
					must(p.cancel(p.oracle.timers[0].id - 1))
				}
			},
			"advance": func(t *rapid.T) {
				must(p.advance(p.now.Add(distance.Draw(t, "by")), rapid.SampledFrom(units).Draw(t, "unit")))
			},
			"advance to the earliest": func(t *rapid.T) {
				if len(p.oracle.timers) > 0 {
					must(p.advance(p.oracle.timers[0].at, rapid.SampledFrom(units).Draw(t, "unit")))
				}
			},
		})
	})
}

// FuzzAgreesWithSortedSlice reads the input as calls of four bytes: what to do, a unit, and a count of it.
func FuzzAgreesWithSortedSlice(f *testing.F) {
	f.Add([]byte{0, 2, 1, 0, 0, 3, 1, 0, 0, 4, 1, 0, 2, 5, 9, 0})
	f.Add([]byte{0, 9, 0xff, 0x7f, 0, 0, 1, 0, 1, 0, 0, 0, 2, 9, 0, 0x80, 0, 1, 3, 0, 2, 9, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, calls []byte) {
		p := newPair()
		for ; len(calls) >= 4; calls = calls[4:] {
			unit := units[int(calls[1])%len(units)]
			count := binary.LittleEndian.Uint16(calls[2:])
			at := p.now.Add(time.Duration(int16(count)) * unit)
			var err error
			switch calls[0] % 3 {
			case 0:
				p.schedule(at)
			case 1:
				err = p.cancel(int(count))
			case 2:
				err = p.advance(at, unit)
			}
			if err == nil {
				err = p.check()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
