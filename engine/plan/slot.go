package plan

import (
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// Compile returns the schedule of a definition; nil where it has no usable one. The API refuses faulty ones; one that came into
// the store by another way is left alone rather than guessed at.
func Compile(s *spec.Job, def *engine.Job) *cron.Schedule {
	schedule, err := cron.Compile(s.Definition(def.Key(), def.CreatedAt))
	if err != nil {
		return nil
	}
	return schedule
}

// Names reports whether slot is one of the schedule's.
func Names(s *cron.Schedule, slot time.Time) bool {
	if s.Kind() == cron.KindAfter {
		return true
	}
	next, ok := s.Next(slot.Add(-time.Millisecond))
	return ok && next.Equal(slot)
}

// Stored is a slot as it is stored, to the millisecond and not before itself; Parked where there is none.
func Stored(slot time.Time, ok bool) time.Time {
	if !ok {
		return engine.Parked
	}
	stored := slot.UTC().Truncate(time.Millisecond)
	if slot.After(stored) {
		return stored.Add(time.Millisecond)
	}
	return stored
}

// Backfill returns the slots in [from, to) that are not after now, at most engine.MaxBackfill. A fixed delay has none.
func Backfill(s *cron.Schedule, from, to, now time.Time) []time.Time {
	if s == nil || s.Kind() == cron.KindAfter {
		return nil
	}
	var slots []time.Time
	slot, ok := s.Next(from.Add(-time.Millisecond))
	for ok && slot.Before(to) && !slot.After(now) && len(slots) < engine.MaxBackfill {
		if !s.Excluded(slot) {
			slots = append(slots, slot)
		}
		slot, ok = s.Next(slot)
	}
	return slots
}

// Earlier returns the first of two instants.
func Earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// Later returns the last of two instants.
func Later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
