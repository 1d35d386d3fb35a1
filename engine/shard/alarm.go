package shard

import (
	"log/slog"
	"time"
)

// alarm wakes the runner at an instant. Its methods are called from one goroutine.
type alarm interface {
	// set asks for one ring after d; it replaces what was asked for before, which may ring nevertheless.
	set(d time.Duration)
	// rings receives a value for each ring; it holds one.
	rings() <-chan time.Time
	close()
}

// newAlarm makes the alarm that the config asks for.
func newAlarm(config Config, log *slog.Logger) alarm {
	if config.ExactTimers {
		exact, err := newExactAlarm()
		if err == nil {
			return exact
		}
		log.Debug("the system has no exact timers: slots are up to two milliseconds late", "reason", err)
	}
	return runtimeAlarm{time.NewTimer(time.Hour)}
}

// runtimeAlarm is a timer of Go's, which on Linux waits in whole milliseconds: it rings up to two of them late. In a
// test it follows the test's clock.
type runtimeAlarm struct{ timer *time.Timer }

func (a runtimeAlarm) set(d time.Duration)     { a.timer.Reset(d) }
func (a runtimeAlarm) rings() <-chan time.Time { return a.timer.C }
func (a runtimeAlarm) close()                  { a.timer.Stop() }
