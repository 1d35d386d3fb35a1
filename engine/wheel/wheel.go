package wheel

import (
	"math"
	"math/bits"
	"time"
)

const (
	slotBits  = 6
	slotCount = 1 << slotBits
	slotMask  = slotCount - 1
	// levelCount levels of six bits hold all 64 bits of a tick.
	levelCount = (64 + slotBits - 1) / slotBits
)

// Wheel holds timers that each carry a value of type T. Make one with New.
type Wheel[T any] struct {
	// cursor is the tick that the wheel has reached; it never moves back. A timer of the cursor's own tick, or of an
	// earlier one, lies in the cursor's slot of level 0. Every other timer lies in a slot after the cursor's, at the
	// level of the highest six bits in which its tick and the cursor differ. So the first occupied slot of the lowest
	// occupied level holds the earliest timer of all.
	cursor uint64
	levels uint16 // bit l: some slot of level l is occupied
	// occupied[l], bit s: slot s of level l holds a timer.
	occupied [levelCount]uint64
	slots    [levelCount][slotCount]*Timer[T] // the roots of the slots' heaps
	length   int
	sequence uint64
}

// Timer is one scheduled value. It is only good for Cancel.
type Timer[T any] struct {
	at       time.Time
	sequence uint64
	wheel    *Wheel[T] // nil once the timer has fired or was cancelled

	// The pairing heap: child is the first child, next the next sibling, and previous the previous one, or the parent
	// for a first child.
	child, next, previous *Timer[T]

	level, slot uint8
	value       T
}

// New returns an empty wheel whose time is start. A start that is long before or after the first timers costs
// nothing.
func New[T any](start time.Time) *Wheel[T] {
	return &Wheel[T]{cursor: tickOf(start)}
}

// Len returns the number of timers that have neither fired nor been cancelled.
func (w *Wheel[T]) Len() int { return w.length }

// Schedule adds a timer that fires in the first Advance that reaches at: in the next one, if at has passed. Only the
// wall clock of at counts; a monotonic reading is dropped. The timer allocates once.
func (w *Wheel[T]) Schedule(at time.Time, value T) *Timer[T] {
	w.sequence++
	t := &Timer[T]{at: at.Round(0), sequence: w.sequence, wheel: w, value: value}
	w.length++
	w.place(t)
	return t
}

// Cancel removes a timer and reports whether it was still to fire. It returns false for a timer that has fired or was
// cancelled, for one of another wheel, and for nil.
func (w *Wheel[T]) Cancel(t *Timer[T]) bool {
	if t == nil || t.wheel != w {
		return false
	}
	w.remove(t)
	return true
}

// Next returns the exact instant of the earliest timer, which may have passed, and false if there is none.
func (w *Wheel[T]) Next() (time.Time, bool) {
	if w.length == 0 {
		return time.Time{}, false
	}
	return w.earliest().at, true
}

// Advance moves the wheel's time to now and calls fire for every timer with at <= now, ordered by at and, within one
// instant, by the order of Schedule. Only the wall clock of now counts.
//
// When fire runs, its timer is no longer in the wheel. It may call Schedule, Cancel, Next and Len, but not Advance; a
// timer that it schedules at or before now fires in this same Advance.
//
// The time of the wheel never goes back: a now before an earlier one moves nothing, and since what lies before it has
// fired already, it fires only what was scheduled in the past since then.
func (w *Wheel[T]) Advance(now time.Time, fire func(at time.Time, value T)) {
	now = now.Round(0)
	for w.length > 0 {
		t := w.earliest()
		if t.at.After(now) {
			break
		}
		w.moveTo(tickOf(t.at))
		at, value := t.at, t.value
		w.remove(t)
		fire(at, value)
	}
	w.moveTo(tickOf(now))
}

// earliest returns the first timer of a wheel that is not empty.
func (w *Wheel[T]) earliest() *Timer[T] {
	level, slot := w.firstOccupied()
	return w.slots[level][slot]
}

func (w *Wheel[T]) firstOccupied() (level, slot int) {
	level = bits.TrailingZeros16(w.levels)
	return level, bits.TrailingZeros64(w.occupied[level])
}

// moveTo moves the cursor forward to tick. No timer lies between the two, save in the cursor's own slot. If tick lies
// in an occupied slot of a higher level, which then is the first occupied one, that slot's timers move down.
func (w *Wheel[T]) moveTo(tick uint64) {
	if tick <= w.cursor {
		return
	}
	if w.length == 0 {
		w.cursor = tick
		return
	}
	level, slot := w.firstOccupied()
	shift := level * slotBits
	// The slot's place in time: its own bits and, above them, the cursor's.
	entered := level > 0 && tick>>shift == (w.cursor>>shift)&^slotMask|uint64(slot)
	w.cursor = tick
	if !entered {
		return
	}
	root := w.slots[level][slot]
	w.setRoot(level, slot, nil)
	for list := root; list != nil; {
		var t *Timer[T]
		t, list = takeFirst(list)
		w.place(t)
	}
}

// place puts a timer that is in no slot where its tick and the cursor say.
func (w *Wheel[T]) place(t *Timer[T]) {
	tick := max(tickOf(t.at), w.cursor)
	level := 0
	if differ := tick ^ w.cursor; differ != 0 {
		level = (bits.Len64(differ) - 1) / slotBits
	}
	slot := int(tick>>(level*slotBits)) & slotMask
	t.level, t.slot = uint8(level), uint8(slot)
	w.setRoot(level, slot, meld(w.slots[level][slot], t))
}

// remove takes a timer out of its slot and lets go of its value.
func (w *Wheel[T]) remove(t *Timer[T]) {
	level, slot := int(t.level), int(t.slot)
	w.setRoot(level, slot, without(w.slots[level][slot], t))
	w.length--
	var none T
	t.wheel, t.value = nil, none
}

func (w *Wheel[T]) setRoot(level, slot int, root *Timer[T]) {
	w.slots[level][slot] = root
	if root != nil {
		w.occupied[level] |= 1 << slot
		w.levels |= 1 << level
		return
	}
	w.occupied[level] &^= 1 << slot
	if w.occupied[level] == 0 {
		w.levels &^= 1 << level
	}
}

// tickOf returns the millisecond of an instant, counted so that unsigned ticks are ordered as instants are. Instants
// further than 292 million years from 1970 share the first and the last tick.
func tickOf(at time.Time) uint64 {
	const farthest = math.MaxInt64/1000 - 1
	milliseconds := int64(math.MaxInt64)
	switch seconds := at.Unix(); {
	case seconds < -farthest:
		milliseconds = math.MinInt64
	case seconds <= farthest:
		milliseconds = at.UnixMilli()
	}
	return uint64(milliseconds) ^ 1<<63
}
