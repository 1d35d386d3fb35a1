package core

import (
	"time"

	"github.com/tidewheel/tidewheel/cron"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/spec"
)

// compile gives nil for a definition that has no usable schedule. The API refuses faulty ones; one that came into
// the store by another way is left alone rather than guessed at.
func compile(s *spec.Job, def *engine.Job) *cron.Schedule {
	schedule, err := cron.Compile(s.Definition(def.Key(), def.CreatedAt))
	if err != nil {
		return nil
	}
	return schedule
}

// names reports whether slot is one of the schedule's.
func names(s *cron.Schedule, slot time.Time) bool {
	if s.Kind() == cron.KindAfter {
		return true
	}
	next, ok := s.Next(slot.Add(-time.Millisecond))
	return ok && next.Equal(slot)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
